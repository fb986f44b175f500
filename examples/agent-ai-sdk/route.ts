// The route of a chat app with the Vercel AI SDK, as its documentation has it: app/api/chat/route.ts in Next.js. Parley asks it
// as useChat does, so it needs no change for Discord and Telegram: models.chat[].protocol: ai-sdk. See docs/your-agent.md.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { convertToModelMessages, createUIMessageStream, createUIMessageStreamResponse, stepCountIs, streamText, tool, type UIMessage } from "ai";
import { z } from "zod";

const provider = createOpenAICompatible({
  name: "example",
  baseURL: process.env.MODEL_URL ?? "http://127.0.0.1:11434/v1",
  apiKey: process.env.MODEL_KEY,
});

export async function POST(request: Request): Promise<Response> {
  const { messages }: { messages: UIMessage[] } = await request.json();

  const stream = createUIMessageStream({
    originalMessages: messages,
    execute: async ({ writer }) => {
      // A part of data with an id: a later one with the same id replaces it, in one message.
      const status = (text: string) => writer.write({ type: "data-status", id: "search", data: { text } });

      const result = streamText({
        model: provider(process.env.MODEL ?? "llama3.2"),
        system: "You book trains. Ask the user which one before you book.",
        messages: await convertToModelMessages(messages),
        stopWhen: stepCountIs(5),
        abortSignal: request.signal,
        tools: {
          find_trains: tool({
            description: "Find trains to a city.",
            inputSchema: z.object({ city: z.string() }),
            execute: async ({ city }) => {
              status(`🔎 Looking for trains to ${city}…`);
              const trains = ["08:00", "09:30"];
              status(`🔎 Found ${trains.length} trains to ${city}`);
              return trains;
            },
          }),
          // A tool without execute: the client answers it. Parley asks the user, with a button for each option.
          ask_user: tool({
            description: "Ask the user to choose.",
            inputSchema: z.object({ question: z.string(), options: z.array(z.string()) }),
            outputSchema: z.string(),
          }),
          book_train: tool({
            description: "Book a train.",
            inputSchema: z.object({ train: z.string() }),
            execute: async ({ train }) => {
              const ticket = Buffer.from(`Ticket for the train at ${train}\n`).toString("base64");
              writer.write({ type: "file", mediaType: "text/plain", url: `data:text/plain;base64,${ticket}` });
              return { booked: train };
            },
          }),
        },
      });
      writer.merge(result.toUIMessageStream());
    },
    onError: (error) => {
      console.error("failed:", error);
      return "The agent failed.";
    },
  });
  return createUIMessageStreamResponse({ stream });
}
