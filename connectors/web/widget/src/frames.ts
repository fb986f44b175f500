// The gateway's messages, as docs/web-api.md describes them.

// Choices are options. The last one of an approval refuses; until is when it expires, in ms since 1970.
export interface Choices { id: string; options: string[]; approval?: boolean; until?: number; fields?: Field[] }

// Field is one of a form. min and max are of a number, of the length of a text, or of how many options are chosen or files are sent.
export interface Field { name: string; title: string; kind: 'text' | 'number' | 'integer' | 'date' | 'choice' | 'choices' | 'file'; options?: string[]; accept?: string[]; optional?: boolean; min?: number; max?: number }

export interface StoredFile { name?: string; type: string; size: number; url: string; thumbnail?: string; unread?: string }

export interface ToolFrame {
  type?: 'tool'; callId: string; toolName?: string; label?: string; stage?: 'start' | 'streaming' | 'running' | 'end'; phase?: string; at?: number;
  args?: string; parametersChunk?: string; compactParams?: string; result?: string; shortResult?: string; error?: string; images?: string[]; files?: StoredFile[];
}

export interface DoneFrame {
  type: 'done'; fullText?: string; messageId?: string; failureKind?: string; interrupted?: boolean; noResponseReason?: string; reason?: string;
  actionCallbackHistory?: string[]; choices?: Choices; kind?: string;
}

export type Frame =
  | { type: 'status'; kind: string; actionName?: string; toolName?: string; choices?: Choices }
  | { type: 'reasoning' | 'token'; text?: string; fullText?: string }
  | (ToolFrame & { type: 'tool' })
  | DoneFrame
  | { type: 'reconnect'; after: number };

export interface Message {
  id: string; role: 'user' | 'assistant'; text: string; timestamp: number; clientMessageId?: string; replyToMessageId?: string; person?: string; files?: StoredFile[];
  actionCallbackHistory?: string[]; tools?: ToolFrame[]; interrupted?: boolean; failureKind?: string; choices?: Choices; waiting?: boolean; feedback?: { rating: Rating };
}

export type Rating = 'up' | 'down' | 'none';

export interface Chat { id: string; title?: string; createdAt: number | string; updatedAt: number | string }
