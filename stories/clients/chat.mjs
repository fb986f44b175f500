// The AI SDK's chat without a framework: what useChat is around.
export async function chatOf(name) {
  const ai = await import(name)
  class State {
    status = 'ready'
    error = undefined
    renders = []
    constructor(messages) { this.list = messages ?? [] }
    get messages() { return this.list }
    set messages(all) { this.list = [...all]; this.render() }
    pushMessage = m => { this.list = [...this.list, m]; this.render() }
    popMessage = () => { this.list = this.list.slice(0, -1) }
    replaceMessage = (i, m) => { this.list = [...this.list.slice(0, i), structuredClone(m), ...this.list.slice(i + 1)]; this.render() }
    snapshot = m => structuredClone(m)
    render() { this.renders.push(structuredClone(this.list.at(-1))) }
  }
  return class Chat extends ai.AbstractChat {
    constructor({ messages, ...init }) {
      const state = new State(messages)
      super({ ...init, state })
      this.rendered = state.renders
    }
  }
}

export const textOf = m => (m?.parts ?? []).filter(p => p.type === 'text').map(p => p.text).join('\n\n')
