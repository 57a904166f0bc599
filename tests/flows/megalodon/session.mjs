// A session of a library that supports several kinds of sites. Arguments: the site, a token, the id of another account.
// Prints one line of JSON: what the detector found, the number of calls, and which failed, with their messages.
import { createReadStream } from "node:fs";

import generator, { detector } from "megalodon";

const [url, token, other, picture] = process.argv.slice(2);
const said = { detected: await detector(url), calls: 0, failed: {} };
const textOf = (status) => status.content.replace(/<[^>]*>/g, "");
const client = generator(said.detected, url, token);

async function call(name, ...parameters) {
  said.calls += 1;
  try {
    return (await client[name](...parameters))?.data;
  } catch (error) {
    const answer = error.response;
    said.failed[name] = answer ? answer.status : error.constructor.name;
  }
}

const me = await call("verifyAccountCredentials");
said.me = me.acct;
await call("verifyAppCredentials");
await call("updateCredentials", { display_name: "Alice", source: { privacy: "public" } });
await call("getAccount", other);
await call("lookupAccount", "bob");
await call("getAccountStatuses", other, { limit: 5 });
await call("getAccountFollowers", other);
await call("getAccountFollowing", other);
await call("followAccount", other);
await call("subscribeAccount", other);
await call("unsubscribeAccount", other);
await call("pinAccount", other);
await call("getEndorsements");
await call("unpinAccount", other);
await call("setAccountNote", other, "A friend");
await call("muteAccount", other, true);
await call("getMutes");
await call("unmuteAccount", other);
await call("getRelationship", other);
said.relationships = (await call("getRelationships", [other, me.id])).length;
said.found = (await call("searchAccount", "bob", { limit: 5 })).map((account) => account.acct);
await call("getIdentityProof", other);

const list = await call("createList", "Friends");
await call("updateList", list.id, "Good friends");
await call("getList", list.id);
await call("getLists");
await call("addAccountsToList", list.id, [other]);
said.members = (await call("getAccountsInList", list.id)).map((account) => account.id);
await call("getAccountLists", other);
await call("getListTimeline", list.id);
await call("deleteAccountsFromList", list.id, [other]);
await call("deleteList", list.id);

const file = await call("uploadMedia", createReadStream(picture), { description: "A square" });
await call("updateMedia", file.id, { description: "A red square" });
await call("getMedia", file.id);
const status = await call("postStatus", "Hello #river", { media_ids: [file.id], language: "en" });
said.posted = [textOf(status), status.media_attachments.map((one) => one.description)];
await call("getStatus", status.id);
await call("getStatusSource", status.id);
said.edited = textOf(await call("editStatus", status.id, { status: "Changed #river", media_ids: [file.id] }));
await call("favouriteStatus", status.id);
await call("getStatusFavouritedBy", status.id);
await call("getFavourites");
await call("unfavouriteStatus", status.id);
await call("reblogStatus", status.id);
await call("getStatusRebloggedBy", status.id);
await call("unreblogStatus", status.id);
await call("bookmarkStatus", status.id);
said.bookmarks = (await call("getBookmarks")).map((one) => one.id === status.id);
await call("unbookmarkStatus", status.id);
await call("muteStatus", status.id);
await call("unmuteStatus", status.id);
await call("pinStatus", status.id);
await call("unpinStatus", status.id);
const answer = await call("postStatus", "An answer", { in_reply_to_id: status.id, visibility: "unlisted" });
said.descendants = (await call("getStatusContext", status.id)).descendants.map((one) => one.id === answer.id);
await call("deleteStatus", answer.id);
const asked = await call("postStatus", "Which?", { poll: { options: ["Red", "Green"], expires_in: 3600 } });
await call("getPoll", asked.poll.id);
const inAnHour = new Date(Date.now() + 3600_000).toISOString();
const scheduled = await call("postStatus", "Later", { scheduled_at: inAnHour });
await call("getScheduledStatuses");
await call("getScheduledStatus", scheduled.id);
await call("scheduleStatus", scheduled.id, new Date(Date.now() + 7200_000).toISOString());
await call("cancelScheduledStatus", scheduled.id);

await call("getHomeTimeline", { limit: 5 });
await call("getPublicTimeline", { limit: 5 });
await call("getLocalTimeline", { limit: 5 });
said.tagged = (await call("getTagTimeline", "river")).map((one) => one.id === status.id);
await call("getConversationTimeline");
await call("saveMarkers", { home: { last_read_id: status.id } });
said.marker = (await call("getMarkers", ["home"])).home.last_read_id === status.id;
said.notifications = (await call("getNotifications", { limit: 5 })).map((one) => one.type);
const [notification] = await call("getNotifications", { limit: 1 });
await call("getNotification", notification.id);
await call("dismissNotification", notification.id);
await call("dismissNotifications");

await call("getTag", "river");
await call("followTag", "river");
await call("getFollowedTags");
await call("unfollowTag", "river");
const featured = await call("createFeaturedTag", "river");
await call("getFeaturedTags");
await call("getSuggestedTags");
await call("deleteFeaturedTag", featured.id);
const filter = await call("createFilter", "forbidden", ["home"]);
await call("updateFilter", filter.id, "banned", ["home", "public"]);
await call("getFilter", filter.id);
await call("getFilters");
await call("deleteFilter", filter.id);
await call("getPreferences");
await call("getSuggestions", 5);
await call("getFollowRequests");
await call("getDomainBlocks");
await call("blockDomain", "elsewhere.example");
await call("unblockDomain", "elsewhere.example");
await call("report", other, { comment: "Look at this", category: "spam" });
await call("blockAccount", other);
await call("getBlocks");
await call("unblockAccount", other);
await call("unfollowAccount", other);
said.accounts = (await call("search", "bob", { type: "accounts" })).accounts.map((account) => account.acct);

await call("getInstance");
await call("getInstancePeers");
said.weeks = (await call("getInstanceActivity")).length;
await call("getInstanceTrends", 5);
await call("getInstanceDirectory", { limit: 5 });
await call("getInstanceCustomEmojis");
await call("getInstanceAnnouncements");
await call("deleteStatus", status.id);

console.log(JSON.stringify(said));
process.exit(0);
