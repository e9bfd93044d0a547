// The REST API of the address that this page comes from. A proxy in front of it adds the reader's token.
export class Problem extends Error {
  constructor(status, title, detail) {
    super(detail);
    this.status = status;
    this.title = title;
  }
}

// The path of an answer, relative to the page, so that it also works below another path.
export function address(path, parameters) {
  const query = new URLSearchParams(Object.entries(parameters ?? {}).filter(([, v]) => v !== undefined && v !== null && v !== ""));
  return `api/v1/${path}${query.size ? `?${query}` : ""}`;
}

export function scoped(namespace, path) {
  return namespace ? `namespaces/${encodeURIComponent(namespace)}/${path}` : path;
}

export function workloadPath(id, what) {
  const kind = id.group ? `${id.kind}.${id.group}` : id.kind;
  return `namespaces/${encodeURIComponent(id.namespace)}/workloads/${encodeURIComponent(kind)}/${encodeURIComponent(id.name)}${what ? `/${what}` : ""}`;
}

async function problemOf(answer) {
  try {
    const told = await answer.json();
    return new Problem(answer.status, String(told.title ?? answer.status), String(told.detail ?? "It gave no reason."));
  } catch {
    return new Problem(answer.status, `HTTP ${answer.status}`, "The answer is not halflife's: a proxy in between may have made it.");
  }
}

export let oldness = null; // what the last answer said of its age; null: it is as of now

export async function get(path, parameters, signal) {
  let answer;
  try {
    answer = await fetch(address(path, parameters), { signal, redirect: "manual", headers: { Accept: "application/json" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "No answer", "halflife, or the proxy in front of it, did not answer. Does it still run?");
  }
  if (answer.type === "opaqueredirect") throw new Problem(0, "Signed out", "The proxy wants you to sign in again: reload this page.");
  if (!answer.ok) throw await problemOf(answer);
  oldness = answer.headers.get("Age");
  return answer.json();
}

// The answer, or the problem in its place: for parts of a page that others do not depend on.
export async function attempt(path, parameters, signal) {
  try {
    return [await get(path, parameters, signal), null];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return [null, error];
  }
}
