// What a client prints of Discord's objects.

// print shows the fields that are defined.
export function print(title, fields = {}) {
  const all = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false && !(Array.isArray(value) && value.length === 0));
  console.log([title, ...all.map(([name, value]) => `  ${name}: ${typeof value === "string" ? value.replaceAll("\n", "\n    ") : JSON.stringify(value)}`)].join("\n"));
}

// content returns the parts of a message.
export function content(m) {
  return {
    where: m.channel && (m.channel.isDMBased() ? "direct message" : `${m.guild?.name} #${m.channel.name}`),
    author: m.author?.username,
    text: m.cleanContent,
    mentions: m.mentions.users.map((u) => u.username),
    reply: m.reference && `to ${m.channel?.messages.cache.get(m.reference.messageId)?.author.username}`,
    forward: m.messageSnapshots?.map((s) => s.content),
    files: m.attachments.map((a) => `${a.name}, ${a.contentType}, ${a.size} bytes`),
    stickers: m.stickers.map((s) => s.name),
    poll: m.poll?.question.text,
    embeds: m.embeds.map((e) => e.title),
    buttons: m.components.flatMap((row) => row.components ?? []).map((b) => b.label ?? `${b.placeholder}: ${b.options?.map((o) => o.label).join(", ")}`),
    edited: m.editedTimestamp !== null,
    "no embeds": m.flags.has("SuppressEmbeds"),
    "only for one": m.flags.has("Ephemeral"),
  };
}
