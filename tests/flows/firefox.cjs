// Preloaded into Playwright's driver: it tells every browser which colours it prefers, and Firefox ESR does not know that command yet.

const UNKNOWN = "emulation.setMediaFeaturesOverride";
const parse = JSON.parse;

JSON.parse = (text, ...more) => {
  const message = parse(text, ...more);
  const harmless = message?.error === "unknown command" && message.message === UNKNOWN;
  return harmless ? { type: "success", id: message.id, result: {} } : message;
};
