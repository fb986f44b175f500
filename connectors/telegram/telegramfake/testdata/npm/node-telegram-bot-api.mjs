// A bot on node-telegram-bot-api: it prints each update, and answers a command, a press and a request to try all errors.
import { Bot, InlineKeyboardBuilder, TelegramApiError } from "node-telegram-bot-api";
import { content, print, record, write } from "./describe.mjs";

const [apiRoot, token, name, blocked] = process.argv.slice(2);
const bot = new Bot(token, {
  apiRoot,
  maxRetries: 0,
  fetch: async (url, init) => {
    const response = await fetch(url, init);
    const body = await response.clone().json();
    if (body.ok) record(String(url).split("/").pop(), body.result);
    return response;
  },
});

bot.use(async (ctx, next) => {
  const { update } = ctx;
  print(Object.keys(update).find((key) => key !== "update_id"), {
    chat: ctx.chat && `${ctx.chat.type} ${ctx.chat.title ?? ctx.chat.first_name}`,
    from: ctx.from?.first_name,
    data: ctx.callbackQuery?.data,
    was: update.my_chat_member?.old_chat_member.status,
    now: update.my_chat_member?.new_chat_member.status,
    reacted: update.message_reaction?.new_reaction.map((r) => r.emoji).join(""),
    draft: update.stopped_message_generation?.draft_id,
    ...content(ctx.message ?? ctx.editedMessage ?? ctx.channelPost ?? ctx.callbackQuery?.message),
  });
  await next();
});

bot.command("ask", async (ctx) => {
  await ctx.api.sendChatAction({ chat_id: ctx.chatId, action: "typing" });
  const sent = await ctx.reply(`You asked <b>${ctx.match}</b>`, {
    parse_mode: "HTML",
    reply_parameters: { message_id: ctx.message.message_id },
    reply_markup: new InlineKeyboardBuilder().text("Yes", "yes").row().text("No", "no").build(),
  });
  print("sent", { entities: sent.entities.map((e) => e.type), ...content(sent) });
  await ctx.api.sendMessageDraft({ chat_id: ctx.chatId, draft_id: 5, text: "You asked", can_stop: true });
  console.log("> press");
});

bot.on("callback_query", async (ctx) => {
  const { message } = ctx.callbackQuery;
  print("answered", { ok: await ctx.answerCallbackQuery({ text: "Noted" }) });
  print("edited", content(await ctx.api.editMessageText({ chat_id: ctx.chatId, message_id: message.message_id, text: "You said <i>yes</i>", parse_mode: "HTML" })));
  print("reacted", { ok: await ctx.api.setMessageReaction({ chat_id: ctx.chatId, message_id: message.message_id, reaction: [{ type: "emoji", emoji: "👍" }] }) });
});

bot.command("fail", async (ctx) => {
  for (const attempt of [
    () => ctx.reply("<think>", { parse_mode: "HTML" }),
    () => ctx.api.editMessageText({ chat_id: ctx.chatId, message_id: 999, text: "x" }),
    () => ctx.api.sendMessage({ chat_id: blocked, text: "hello?" }),
    () => ctx.api.sendMessage({ chat_id: 12345, text: "hello?" }),
    () => ctx.reply("too much"),
    () => ctx.api.getFile({ file_id: "unknown" }),
  ]) {
    await attempt().then(() => print("no error", {}), (err) => {
      if (!(err instanceof TelegramApiError)) throw err;
      print("refused", { code: err.errorCode, description: err.description, "retry after": err.retryAfter });
    });
  }
  bot.stop();
});
bot.catch((err) => {
  console.error(err.error ?? err);
  process.exit(1);
});

const me = await bot.api.getMe();
print("me", { username: me.username, groups: me.can_join_groups, topics: me.has_topics_enabled });
await bot.startPolling(undefined, {
  allowedUpdates: ["message", "edited_message", "channel_post", "callback_query", "my_chat_member", "message_reaction", "stopped_message_generation"],
});
write(`${name}.ts`, `import type { Api } from "node-telegram-bot-api";`, (method) => `Awaited<ReturnType<Api["${method}"]>>`);
process.exit(0);
