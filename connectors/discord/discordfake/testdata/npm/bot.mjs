// A bot on discord.js: it prints what it gets, answers interactions in every way, and writes what it got as a program that compiles only
// if it has the types of discord-api-types.
import { writeFileSync } from "node:fs";
import {
  ActionRowBuilder, ButtonBuilder, ButtonStyle, Client, DefaultRestOptions, Events, GatewayDispatchEvents, GatewayIntentBits, LabelBuilder, MessageFlags, ModalBuilder, Partials, SlashCommandBuilder,
  StringSelectMenuBuilder, TextInputBuilder, TextInputStyle,
} from "discord.js";
import { content, print } from "./describe.mjs";

const [api, token, silent] = process.argv.slice(2);

// The library sends these fields also where they say nothing new. Discord ignores them there; the fake refuses unknown fields.
const makeRequest = (url, init) => {
  if (typeof init.body === "string") init.body = init.body.replaceAll(/"(tts|enforce_nonce)":false,?|"type":11,?/g, "").replaceAll(",}", "}");
  return DefaultRestOptions.makeRequest(url, init);
};
const client = new Client({
  rest: { api, retries: 0, timeout: 60_000, makeRequest, rejectOnRateLimit: () => true },
  partials: [Partials.Channel],
  intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.MessageContent, GatewayIntentBits.GuildMessageReactions, GatewayIntentBits.DirectMessages],
});

const events = [];
client.on(Events.Raw, ({ t, d }) => t && events.push([Object.entries(GatewayDispatchEvents).find(([, name]) => name === t)?.[0], JSON.stringify(d)]));
function write() {
  writeFileSync("events.ts", [
    `import type { GatewayDispatchEvents, GatewayDispatchPayload } from "discord-api-types/v10";`,
    "type Wire<T> = T extends string ? `${T}` : T extends object ? { [K in keyof T]: K extends `${string}flags` ? number : Wire<T[K]> } : T;",
    "type Event<K extends keyof typeof GatewayDispatchEvents> = Wire<Extract<GatewayDispatchPayload, { t: (typeof GatewayDispatchEvents)[K] }>[\"d\"]>;",
    ...events.map(([name, data], n) => `const e${n} = ${data} satisfies Event<"${name}">;`),
    "export {};",
    "",
  ].join("\n"));
}

const failed = (err) => {
  console.error(err);
  process.exit(1);
};
const on = (event, handle) => client.on(event, (...all) => Promise.resolve(handle(...all)).catch(failed));
process.on("unhandledRejection", failed);

on(Events.ClientReady, async () => {
  const guild = client.guilds.cache.first();
  print("ready", {
    me: client.user.tag,
    server: guild.name,
    channels: guild.channels.cache.map((c) => `${c.constructor.name} ${c.name}`),
    roles: guild.roles.cache.map((r) => r.name),
    member: guild.members.me.displayName,
  });
  const set = await client.application.commands.set([
    new SlashCommandBuilder().setName("tea").setDescription("Choose a tea").addStringOption((o) => o.setName("kind").setDescription("Which one").setRequired(true).setAutocomplete(true)),
    new SlashCommandBuilder().setName("secret").setDescription("Say it to me alone"),
    new SlashCommandBuilder().setName("slow").setDescription("Think first"),
  ]);
  print("commands", { names: set.map((c) => c.name) });
  console.log("> ready");
});

// What the bot does itself is printed where it does it, as the events come before or after the responses.
const own = (object) => (object.author?.id ?? object.ownerId ?? object.id) === client.user.id;

on(Events.MessageCreate, async (m) => {
  if (own(m)) return;
  print("message", content(m));
  if (m.content === "answer me") {
    await m.channel.sendTyping();
    const sent = await m.reply({ content: "Which **tea**?", files: [{ attachment: Buffer.from("green"), name: "tea.txt" }] });
    print("sent", content(sent));
    print("edited", content(await sent.edit("Which tea do *you* like?")));
    await m.react("👍");
    const thread = await m.startThread({ name: "About tea" });
    print("thread", { name: thread.name, parent: thread.parent.name });
    await thread.send("Here we are.");
    await sent.delete();
    const direct = await m.author.send("Only for you");
    print("sent", content(direct));
    for (const attempt of [() => m.channel.send("x".repeat(2001)), () => client.channels.fetch("999999999999999999"), () => client.channels.cache.get(silent).send("hello?"), () => m.channel.send("too much")]) {
      await attempt().then(() => print("no error"), (err) => print("refused", { kind: err.name, code: err.code, status: err.status, text: err.rawError?.message, "retry after": err.retryAfter && Math.floor(err.retryAfter / 1000) }));
    }
    console.log("> commands");
  }
  if (m.content === "over") {
    write();
    await client.destroy();
    process.exit(0);
  }
});
on(Events.MessageUpdate, (_, m) => own(m) || print("message edited", content(m)));
on(Events.MessageDelete, (m) => own(m) || print("message deleted", { text: m.content }));
on(Events.MessageBulkDelete, (all) => print("messages deleted", { texts: all.map((m) => m.content) }));
on(Events.MessageReactionAdd, (r, u) => own(u) || print("reaction", { emoji: r.emoji.name, by: u.username, to: r.message.content }));
on(Events.MessageReactionRemove, (r, u) => print("reaction removed", { emoji: r.emoji.name, by: u.username }));
on(Events.ThreadCreate, (t) => own(t) || print("thread created", { name: t.name, parent: t.parent?.name }));
on(Events.ChannelCreate, (c) => print("channel created", { name: c.name }));
on(Events.ChannelDelete, (c) => print("channel deleted", { name: c.name }));
on(Events.GuildCreate, (g) => print("server joined", { name: g.name, greets: g.systemChannel?.name }));
on(Events.GuildDelete, (g) => print("server left", { name: g.name }));

on(Events.InteractionCreate, async (i) => {
  print("interaction", {
    kind: i.constructor.name,
    by: i.user.username,
    member: i.member?.displayName,
    where: i.channel?.isDMBased() ? "direct message" : i.channel?.name,
    name: i.commandName ?? i.customId,
    kinds: i.options?.getString?.("kind"),
    values: i.values,
    text: i.fields?.getTextInputValue("why"),
  });
  if (i.isAutocomplete()) return await i.respond([{ name: "Green tea", value: "green" }]);
  if (i.commandName === "tea") {
    const { resource } = await i.reply({
      content: "Sure?",
      components: [
        new ActionRowBuilder().addComponents(new ButtonBuilder().setCustomId("yes").setLabel("Yes").setStyle(ButtonStyle.Success), new ButtonBuilder().setCustomId("why").setLabel("Why…").setStyle(ButtonStyle.Secondary)),
        new ActionRowBuilder().addComponents(new StringSelectMenuBuilder().setCustomId("size").setPlaceholder("Size").addOptions({ label: "Small", value: "s" }, { label: "Large", value: "l" })),
      ],
      withResponse: true,
    });
    console.log(`> press ${resource.message.id}`);
  }
  if (i.commandName === "secret") {
    await i.reply({ content: "It is green.", flags: MessageFlags.Ephemeral });
    await i.editReply("It is black.");
    console.log("> slow");
  }
  if (i.commandName === "slow") {
    await i.deferReply();
    print("answered", content(await i.editReply("Now I know.")));
    print("followed", content(await i.followUp({ content: "By the way…", flags: MessageFlags.Ephemeral })));
    console.log("> over");
  }
  if (i.isButton() && i.customId === "yes") await i.update({ content: "Yes!" });
  if (i.isStringSelectMenu()) {
    await i.deferUpdate();
    await i.editReply({ content: "Large it is", components: [] });
  }
  if (i.isButton() && i.customId === "why") {
    const input = new TextInputBuilder().setCustomId("why").setStyle(TextInputStyle.Paragraph);
    await i.showModal(new ModalBuilder().setCustomId("reason").setTitle("Why?").addLabelComponents(new LabelBuilder().setLabel("Your reason").setTextInputComponent(input)));
  }
  if (i.isModalSubmit()) await i.reply({ content: "I see.", flags: MessageFlags.Ephemeral });
  if (i.isButton() || i.isStringSelectMenu() || i.isModalSubmit()) console.log(`> after ${i.customId}`);
});

await client.login(token);
