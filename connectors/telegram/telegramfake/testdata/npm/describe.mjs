// What both clients print of an update, and the file by which the compiler compares all results with their types.
import { writeFileSync } from "node:fs";

const results = [];

// record notes the result of a method.
export function record(method, result) {
  if (!Array.isArray(result) || result.length > 0) results.push([method, result]);
}

// write writes the results as a program that compiles only if each has the type that the client expects. grammY declares that a message
// inside of another has a field that is undefined, which JSON can't say.
export function write(name, declaration, type) {
  const lines = results.map(([method, result], n) => `export const r${n}: ${type(method)} = ${JSON.stringify(result).replaceAll('"reply_to_message":{', '"reply_to_message":{reply_to_message:undefined,')};`);
  writeFileSync(name, [declaration, ...lines, ""].join("\n"));
}

// print shows the fields that are defined.
export function print(title, fields) {
  const all = Object.entries(fields).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0));
  console.log([title, ...all.map(([name, value]) => `  ${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)].join("\n"));
}

// content returns the parts of a message besides its text.
export function content(m) {
  if (!m) return {};
  const quoted = m.reply_to_message;
  return {
    text: m.text ?? m.caption,
    topic: m.is_topic_message && m.message_thread_id,
    photo: m.photo?.map((p) => `${p.width}x${p.height} ${p.file_size} bytes`),
    album: m.media_group_id,
    voice: m.voice && `${m.voice.duration} s, ${m.voice.mime_type}`,
    document: m.document && `${m.document.file_name}, ${m.document.mime_type}`,
    sticker: m.sticker && `${m.sticker.emoji} ${m.sticker.type}`,
    poll: m.poll && `${m.poll.question} ${m.poll.options.map((o) => o.text).join(" or ")}`,
    location: m.location && `${m.location.latitude} ${m.location.longitude}`,
    reply: quoted && `${quoted.from?.first_name}: ${quoted.text}`,
    quote: m.quote?.text,
    forward: m.forward_origin && `${m.forward_origin.type} ${m.forward_origin.sender_user?.first_name}`,
    edited: m.edit_date !== undefined ? true : undefined,
    moved: m.migrate_to_chat_id,
    members: m.new_chat_members?.map((u) => u.first_name),
    keyboard: m.reply_markup?.inline_keyboard.map((row) => row.map((b) => `${b.text} (${b.callback_data})`).join(", ")),
  };
}
