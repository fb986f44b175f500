// A bot on grammY: it prints each update, and answers a command, a press and a request to try all errors.
import { createServer } from "node:http";
import { Bot, GrammyError, InlineKeyboard, InputFile, webhookCallback } from "grammy";
import { content, print, record, write } from "./describe.mjs";

const [apiRoot, token, name, blocked] = process.argv.slice(2);
const webhook = name.endsWith("-webhook");
const bot = new Bot(token, { client: { apiRoot } });
bot.api.config.use(async (call, method, payload, signal) => {
  const response = await call(method, payload, signal);
  if (response.ok) record(method, response.result);
  return response;
});

const kinds = [":photo", ":voice", ":document", ":sticker", ":location", ":forward_origin", ":entities:bot_command", ":caption_entities:mention",
  "edit:text", "callback_query:data", "my_chat_member", "message_reaction", ":new_chat_members:me", ":migrate_to_chat_id", ":forum_topic_created", "channel_post:text", "stopped_message_generation"];
bot.use(async (ctx, next) => {
  print(Object.keys(ctx.update).find((key) => key !== "update_id"), {
    matches: kinds.filter((kind) => ctx.has(kind)).join(" ") || undefined,
    chat: ctx.chat && `${ctx.chat.type} ${ctx.chat.title ?? ctx.chat.first_name}`,
    from: ctx.from?.first_name,
    entities: ctx.msg && ctx.entities().map((e) => `${e.type} ${e.text}`),
    data: ctx.callbackQuery?.data,
    was: ctx.myChatMember?.old_chat_member.status,
    now: ctx.myChatMember?.new_chat_member.status,
    reacted: ctx.messageReaction && ctx.reactions().emojiAdded.join(""),
    draft: ctx.update.stopped_message_generation?.draft_id,
    ...content(ctx.msg),
  });
  await next();
});

bot.command("ask", async (ctx) => {
  await ctx.replyWithChatAction("typing");
  const sent = await ctx.reply(`You asked <b>${ctx.match}</b>`, {
    parse_mode: "HTML",
    reply_parameters: { message_id: ctx.msgId },
    reply_markup: new InlineKeyboard().text("Yes", "yes").success().row().text("No", "no"),
  });
  print("sent", { entities: sent.entities.map((e) => e.type), ...content(sent) });
  if (!webhook) await ctx.api.sendMessageDraft(ctx.chat.id, 5, "You asked", { can_stop: true });
  console.log("> press");
});

bot.on("callback_query:data", async (ctx) => {
  print("answered", { ok: await ctx.answerCallbackQuery({ text: "Noted" }) });
  const edited = await ctx.editMessageText("You said <i>yes</i>", { parse_mode: "HTML" });
  print("edited", content(edited));
  print("reacted", { ok: await ctx.react("👍") });
  const photo = await ctx.replyWithDocument(new InputFile(Buffer.from("tea"), "tea.txt"));
  print("sent", content(photo));
  print("removed", { ok: await ctx.api.deleteMessage(ctx.chat.id, photo.message_id) });
});

bot.command("fail", async (ctx) => {
  for (const attempt of [
    () => ctx.reply("<think>", { parse_mode: "HTML" }),
    () => ctx.editMessageText("x", { message_id: 999 }),
    () => ctx.api.sendMessage(blocked, "hello?"),
    () => ctx.api.sendMessage(12345, "hello?"),
    () => ctx.reply("too much"),
    () => ctx.api.getFile("unknown"),
  ]) {
    await attempt().then(() => print("no error", {}), (err) => {
      if (!(err instanceof GrammyError)) throw err;
      print("refused", { method: err.method, code: err.error_code, description: err.description, ...err.parameters });
    });
  }
  bot.stop().then(finish);
});
bot.catch((err) => {
  console.error(err.error ?? err);
  process.exit(1);
});

function finish() {
  write(`${name}.ts`, `import type { RawApi } from "grammy";`, (method) => `Awaited<ReturnType<RawApi["${method}"]>>`);
  process.exit(0);
}

if (webhook) {
  const handle = webhookCallback(bot, "http", { secretToken: "s3cret" });
  const server = createServer(handle).listen(0, "127.0.0.1", async () => {
    await bot.api.setWebhook("https://bot.example/hook", { secret_token: "s3cret", allowed_updates: ["message", "callback_query"] });
    print("webhook", { url: (await bot.api.getWebhookInfo()).url });
    console.log(`> http://127.0.0.1:${server.address().port}`);
  });
} else {
  await bot.start({
    allowed_updates: ["message", "edited_message", "channel_post", "callback_query", "my_chat_member", "message_reaction", "stopped_message_generation"],
    onStart: (me) => print("me", { username: me.username, groups: me.can_join_groups, topics: me.has_topics_enabled }),
  });
}
