// Offers the conversations of before a sign-in to the account.

import { type Gateway, Refusal } from './api';
import type { Chat } from './frames';
import { t } from './strings';

const address = 'api/account/conversations';

// declined offers the conversations of the visitor with this token, and reports whether there are some that the account does not want.
export async function declined(gateway: Gateway, visitorToken: string, signal: AbortSignal, tell: (text: string) => void): Promise<boolean> {
  try {
    const { conversations } = await gateway.json<{ conversations: Chat[] }>('POST', address, { visitorToken });
    if (signal.aborted || conversations.length === 0) return false;
    if (!window.confirm(t('Keep your earlier conversations in your account?'))) return true;
    await gateway.request('POST', address, { visitorToken, ids: conversations.map(({ id }) => id) }).catch((error: Error) => tell(error.message));
  } catch (error) {
    if (!(error instanceof Refusal)) gateway.keep(visitorToken); // it is offered again
  }
  return false;
}
