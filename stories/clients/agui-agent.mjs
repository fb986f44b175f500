// An agent of the packages of AG-UI: they check the requests, and write the events. The argument is their version: 1 (1.0) or 0 (0.0.59).
import { createServer } from 'node:http'

const { EventSchemas, RunAgentInputSchema } = await import(process.argv[2] === '1' ? '@ag-ui/core/schemas' : 'agui0-core')
const { EventEncoder } = await import(process.argv[2] === '1' ? '@ag-ui/encoder' : 'agui0-encoder')

function* call(toolCallId, toolCallName, args, content) {
  yield { type: 'TOOL_CALL_START', toolCallId, toolCallName }
  yield { type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(args) }
  yield { type: 'TOOL_CALL_END', toolCallId }
  yield { type: 'TOOL_CALL_RESULT', toolCallId, messageId: toolCallId + '-result', role: 'tool', content }
}

function* say(messageId, text) {
  yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }
  for (const delta of text.match(/.{1,5}/gs)) yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta }
  yield { type: 'TEXT_MESSAGE_END', messageId }
}

function* run({ threadId, runId, resume, state }) {
  yield { type: 'RUN_STARTED', threadId, runId }
  if (resume?.length) {
    yield* call('book', 'book_train', { train: resume[0].payload }, 'booked for ' + state.user)
    yield* say('m2', `${resume[0].status}: ${resume[0].payload}`)
    yield { type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'success' } }
    return
  }
  const activity = { messageId: 'a1', activityType: 'SEARCH' }
  yield { type: 'ACTIVITY_SNAPSHOT', ...activity, content: { text: 'Looking…' } }
  yield { type: 'REASONING_START', messageId: 'r1' }
  yield { type: 'REASONING_MESSAGE_START', messageId: 'r1', role: 'reasoning' }
  yield { type: 'REASONING_MESSAGE_CONTENT', messageId: 'r1', delta: 'Trains, then.' }
  yield { type: 'REASONING_MESSAGE_END', messageId: 'r1' }
  yield { type: 'REASONING_END', messageId: 'r1' }
  yield { type: 'STEP_STARTED', stepName: 'search' }
  yield* say('m1', 'I search for trains.')
  yield* call('find', 'find_trains', { to: 'Berlin' }, '08:00, 09:30')
  yield { type: 'ACTIVITY_DELTA', ...activity, patch: [{ op: 'replace', path: '/text', value: 'Found 2' }] }
  yield { type: 'STEP_FINISHED', stepName: 'search' }
  yield { type: 'STATE_SNAPSHOT', snapshot: { user: 'none' } }
  yield { type: 'STATE_DELTA', delta: [{ op: 'replace', path: '/user', value: 'Ada' }] }
  yield { type: 'CUSTOM', name: 'other', value: 1 }
  const interrupts = [{ id: 'train', reason: 'input_required', message: 'Which train?', responseSchema: { enum: ['08:00', '09:30'] } }]
  yield { type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'interrupt', interrupts } }
}

const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.writeHead(405).end()
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  const input = RunAgentInputSchema.safeParse(JSON.parse(Buffer.concat(pieces)))
  if (!input.success) {
    console.error('the request is not valid:', input.error.message)
    return response.writeHead(400, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error: input.error.message }))
  }
  const encoder = new EventEncoder({ accept: request.headers.accept })
  response.writeHead(200, { 'Content-Type': encoder.getContentType() })
  for (const event of run(input.data)) response.write(encoder.encodeSSE(EventSchemas.parse(event)))
  response.end()
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
