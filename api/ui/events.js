// Reads server-sent events with fetch, since EventSource cannot send a token.

const quiet = 40_000; // ms without a heartbeat after which the stream counts as dead

// follow calls on.open, on.event(kind, data) and on.lost(error) until a request is refused
// as unauthenticated; then it calls on.refused and ends.
export async function follow(path, lastID, headers, on) {
  const at = { id: lastID, retry: 2000 };
  for (;;) {
    try {
      const answer = await read(path, at, headers(), on);
      if (answer === 401) return on.refused();
      on.lost(new Error("the stream has ended"));
    } catch (error) {
      on.lost(error);
    }
    await new Promise((done) => setTimeout(done, at.retry));
  }
}

async function read(path, at, headers, on) {
  const abort = new AbortController();
  const answer = await fetch(path, {
    headers: { ...headers, "Last-Event-ID": at.id }, signal: abort.signal, cache: "no-store",
  });
  if (answer.status === 401) return 401;
  if (!answer.ok) throw new Error(`the event stream answered ${answer.status}`);
  on.open();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let watch;
  try {
    for (;;) {
      clearTimeout(watch);
      watch = setTimeout(() => abort.abort(), quiet);
      const { done, value } = await reader.read();
      if (done) return answer.status;
      const frames = (text + value).split("\n\n");
      text = frames.pop();
      for (const frame of frames) dispatch(frame, at, on);
    }
  } finally {
    clearTimeout(watch);
    abort.abort();
  }
}

function dispatch(frame, at, on) {
  let kind = "message";
  let data = "";
  for (const line of frame.split("\n")) {
    const colon = line.indexOf(": ");
    const [field, value] = [line.slice(0, colon), line.slice(colon + 2)];
    if (field === "id") at.id = value;
    if (field === "event") kind = value;
    if (field === "data") data += value;
    if (field === "retry") at.retry = Number(value);
  }
  if (data) on.event(kind, JSON.parse(data));
}
