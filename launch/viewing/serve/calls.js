// Questions of the page to the server.

async function post(path, content, signal) {
  const answer = await fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content), signal,
  });
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer;
}

export async function call(path, content) {
  const found = await (await post(path, content)).json();
  if (found.error) throw new Error(found.error); // something was mistyped
  return found;
}

// Throw an error of one line if a number was mistyped: the server would refuse it.
export function checkNumber(input, name) {
  if (input.checkValidity()) return;
  const kind = input.step === "any" ? "a number" : "a whole number";
  throw new Error(`${name}: give ${kind} ${input.max ? `from ${input.min} to ${input.max}` : `of ${input.min} or more`}`);
}

// The answer of a player; `progress` is called with the state of the search while it lasts.
export async function ask(question, signal, progress) {
  const answer = await post("/api/ask", question, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the server ended the answer");
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const [, name, data] = text.slice(0, end).match(/^event: (\w+)\ndata: ([^]*)$/);
      const content = JSON.parse(data);
      if (name === "result") return content;
      if (name === "error") throw new Error(content.error);
      progress(content);
    }
  }
}
