// Follows live answers, counts down to the ends of requests, and fills in the code that a link of the agent holds. Every page works without this script.

const code = document.querySelector('#code')
if (code && location.hash) {
  code.value = decodeURIComponent(location.hash.slice(1))
  history.replaceState(null, '', location.pathname)
}

document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })

const live = document.querySelector('#live')
if (live) follow('/admin/events', (runs) => show(live, runs))

const talk = document.querySelector('#talk')
if (talk) {
  talk.scrollTop = talk.scrollHeight
  follow('/admin/events?id=' + encodeURIComponent(talk.dataset.room), (html) => renew(talk, html))
}

const loaded = Date.now() // the time left is by the gateway's clock
const ends = document.querySelectorAll('[data-left]')
if (ends.length > 0) {
  countDown()
  setInterval(countDown, 1000)
}

function countDown() {
  for (const end of ends) {
    const left = end.dataset.left - Math.floor((Date.now() - loaded) / 1000)
    const clock = [left / 3600, left / 60 % 60, left % 60].map((n) => String(Math.floor(n)).padStart(2, '0')).join(':')
    end.textContent = left > 0 ? `${clock.replace(/^00:/, '')} left` : 'expired'
  }
}

function follow(url, show) {
  const source = new EventSource(url)
  source.onmessage = (event) => show(JSON.parse(event.data))
  source.onerror = () => {
    // After a refusal, such as too many requests, the browser gives up.
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 5000 + Math.random() * 5000, url, show)
  }
}

// renew makes a list equal to HTML from the first difference on, so that a screen reader reads only what is new. It keeps the end in view.
function renew(list, html) {
  const template = document.createElement('template')
  template.innerHTML = html
  const now = [...template.content.children]
  const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8
  let same = 0
  while (same < now.length && list.children[same]?.outerHTML === now[same].outerHTML) same++
  while (list.children.length > same) list.lastElementChild.remove()
  list.append(...now.slice(same))
  if (atEnd) list.scrollTop = list.scrollHeight
}

// show makes the page equal to the list, and changes only what is different: what has the focus stays.
function show(live, runs) {
  document.querySelector('#none').hidden = runs.length > 0
  const cards = new Map([...live.children].map((card) => [card.dataset.run, card]))
  for (const run of runs) {
    const card = cards.get(run.id) ?? live.appendChild(blank(run.id))
    cards.delete(run.id)
    for (const part of ['room', 'state', 'author', 'since', 'question', 'text']) set(card.querySelector('.' + part), run[part])
  }
  for (const card of cards.values()) card.remove()
}

function blank(id) {
  const card = document.querySelector('#run').content.firstElementChild.cloneNode(true)
  card.dataset.run = id
  card.querySelector('input[name=id]').value = id
  return card
}

// set changes a text, and keeps its end in view if it was.
function set(element, text) {
  if (element.textContent === text) return
  const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 8
  element.textContent = text
  if (atEnd) element.scrollTop = element.scrollHeight
}
