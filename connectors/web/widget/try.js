// The choices are in the address of the page, so that a change loads it with another chat.
const form = document.querySelector("form"), chosen = new URLSearchParams(location.search)
const script = document.createElement("script")
script.src = new URL("/widget.js", location.href).href
for (const field of form.elements) {
  const value = chosen.get(field.name) ?? ""
  if (field.type === "checkbox") field.checked = value !== ""
  else field.value = value
  if (value !== "" && (field.type === "checkbox" || field.value === value)) script.setAttribute("data-" + field.name, field.type === "checkbox" ? "" : value)
}
document.querySelector("#target").classList.toggle("filled", "target" in script.dataset)
const line = script.outerHTML.replaceAll('=""', "")
document.querySelector("#line").textContent = line
document.querySelector("#copy").addEventListener("click", () => navigator.clipboard.writeText(line))
form.addEventListener("submit", (event) => event.preventDefault())
form.addEventListener("change", () => {
  const next = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""))
  location.search = next.toString()
})
document.body.append(script)
