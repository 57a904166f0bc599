// Calls by a client whose types are generated: node calls.js ADDRESS TOKEN OTHER_ACCOUNT_ID

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const [address, token, other] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({ baseUrl: address, headers: { Authorization: `Bearer ${token}` } });
let calls = 0;

// The body of an answer, which must be a good one.
async function good<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await answer;
  if (!response.ok || data === undefined) throw new Error(`${response.url}: ${response.status} ${JSON.stringify(error)}`);
  calls += 1;
  return data;
}

const said: Record<string, unknown> = {};

const made = (await good(
  client.POST("/api/v1/statuses", { body: { status: "By a generated client." } }),
)) as components["schemas"]["Status"];
said.content = made.content;
const path = { status_id: made.id };
said.edited = (await good(client.PUT("/api/v1/statuses/{status_id}", { params: { path }, body: { status: "Edited." } }))).content;
said.favourited = (await good(client.POST("/api/v1/statuses/{status_id}/favourite", { params: { path } }))).favourited;
said.unfavourited = (await good(client.POST("/api/v1/statuses/{status_id}/unfavourite", { params: { path } }))).favourited;
said.bookmarked = (await good(client.POST("/api/v1/statuses/{status_id}/bookmark", { params: { path } }))).bookmarked;
await good(client.POST("/api/v1/statuses/{status_id}/unbookmark", { params: { path } }));
await good(client.POST("/api/v1/statuses/{status_id}/pin", { params: { path } }));
await good(client.POST("/api/v1/statuses/{status_id}/mute", { params: { path } }));
await good(client.POST("/api/v1/statuses", { body: { status: "An answer.", in_reply_to_id: made.id } }));
said.descendants = (await good(client.GET("/api/v1/statuses/{status_id}/context", { params: { path } }))).descendants.length;
said.history = (await good(client.GET("/api/v1/statuses/{status_id}/history", { params: { path } }))).length;
said.source = (await good(client.GET("/api/v1/statuses/{status_id}/source", { params: { path } }))).text;
await good(client.DELETE("/api/v1/statuses/{status_id}", { params: { path } }));

const account = { params: { path: { account_id: other } } };
said.following = (await good(client.POST("/api/v1/accounts/{account_id}/follow", { ...account, body: {} }))).following;
const list = await good(client.POST("/api/v1/lists", { body: { title: "Mine" } }));
const inList = { params: { path: { list_id: list.id } } };
await good(client.POST("/api/v1/lists/{list_id}/accounts", { ...inList, body: { account_ids: [other] } }));
said.members = (await good(client.GET("/api/v1/lists/{list_id}/accounts", inList))).map((one) => one.id);
await good(client.GET("/api/v1/timelines/list/{list_id}", inList));
await good(client.DELETE("/api/v1/lists/{list_id}", inList));
said.unfollowed = (await good(client.POST("/api/v1/accounts/{account_id}/unfollow", account))).following;

said.me = (await good(client.GET("/api/v1/accounts/verify_credentials"))).acct;
said.found = (await good(client.GET("/api/v1/accounts/lookup", { params: { query: { acct: "bob" } } }))).id;
await good(client.GET("/api/v1/timelines/home", { params: { query: { limit: 5 } } }));
await good(client.GET("/api/v1/timelines/public"));
await good(client.GET("/api/v1/timelines/tag/{name}", { params: { path: { name: "river" } } }));
await good(client.GET("/api/v1/favourites"));
await good(client.GET("/api/v1/bookmarks"));
await good(client.GET("/api/v1/conversations"));
await good(client.GET("/api/v1/lists"));
await good(client.GET("/api/v2/filters"));
await good(client.GET("/api/v1/notifications"));
await good(client.GET("/api/v2/notifications"));
await good(client.GET("/api/v2/notifications/policy"));
await good(client.GET("/api/v1/blocks"));
await good(client.GET("/api/v1/mutes"));
await good(client.GET("/api/v1/follow_requests"));
await good(client.GET("/api/v1/preferences"));
await good(client.GET("/api/v1/profile"));
await good(client.GET("/api/v1/trends/tags"));
await good(client.GET("/api/v2/instance"));
said.search = (await good(client.GET("/api/v2/search", { params: { query: { q: "bob" } } }))).accounts[0]?.acct;

console.log(JSON.stringify({ ...said, calls }));
