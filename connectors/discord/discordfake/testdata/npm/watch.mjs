// It watches a server as discord.js understands it, until someone says "over", and prints the last state of each message.
import { Client, Events, GatewayIntentBits, Partials } from "discord.js";
import { content, print } from "./describe.mjs";

const [api, token] = process.argv.slice(2);
const client = new Client({
  rest: { api, timeout: 60_000 },
  partials: [Partials.Channel],
  intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.MessageContent, GatewayIntentBits.DirectMessages],
});
const messages = new Map();
client.on(Events.MessageCreate, async (m) => {
  if (m.content !== "over") return messages.set(m.id, m);
  for (const last of messages.values()) print("message", { ...content(last), edited: undefined }); // edits depend on the clock
  await client.destroy();
  process.exit(0);
});
client.on(Events.MessageUpdate, (_, m) => messages.set(m.id, m));
client.on(Events.MessageDelete, (m) => messages.delete(m.id));
client.on(Events.ClientReady, () => console.log("> ready"));
await client.login(token);
