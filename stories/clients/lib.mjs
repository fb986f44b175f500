// What the scripts share: the gateway, and the control server of the test.
export const gateway = process.env.GATEWAY
const control = process.env.CONTROL

// release lets the model, or the tool, go on.
export const release = () => fetch(control + '/release')

// kill kills the gateway, and starts it again.
export const kill = () => fetch(control + '/kill')

// prompts returns what the model was asked so far.
export const prompts = async () => (await (await fetch(control + '/prompts')).json()) ?? []

export function check(ok, what, seen) {
  if (!ok) {
    console.error('FAIL', what, seen === undefined ? '' : JSON.stringify(seen, null, 1))
    process.exit(1)
  }
}

export const equal = (got, want, what) => check(JSON.stringify(got) === JSON.stringify(want), what, { got, want })

export async function until(what, done) {
  for (let n = 0; n < 1500; n++) {
    const value = await done()
    if (value) return value
    await new Promise(r => setTimeout(r, 20))
  }
  check(false, 'in vain: ' + what, String(done))
}

// cell records that a client can do something, for the table in docs/clients.md.
export const cell = (...what) => console.log('CELL', what.join(' '))
