// The OpenCode plugin of Shared Memory: says, after each turn, that a session has something new, and,
// where it was asked for, tells a session at its start what holds in its project.
//
// In opencode.json:  "plugin": [["file:///…/shared-memory.js", {"command": ["memory-import", …]}]]
// `command` is what is started, with the event as JSON after it; `memory connect` writes it. Without
// it, `memory-import` has to be in the PATH. A copy in ~/.config/opencode/plugins works as well.
// `brief`, which `memory connect --brief` writes, is what prints the brief; without it there is none.
//
// It throws nothing, and waits for nothing but a brief, that for a bounded time: OpenCode goes on as
// if it were not there. What it misses is found by the next import. Events and hooks as OpenCode
// 1.18.33 has them.

import { spawn } from "node:child_process"

const COMMAND = ["memory-import", "--notify", "opencode"]
const IDLE = "session.idle"
const CREATED = "session.created"
const BRIEF_SECONDS = 10 // for the program, which runs while OpenCode starts its servers
const WAIT_MILLISECONDS = 2000 // for a model's first request that is held up
const FRESH_MILLISECONDS = 60_000 // in which a brief from before the session began still holds
const BRIEF_BYTES = 2048
const SESSIONS = 100 // whose briefs are remembered

const isCommand = (given) =>
  Array.isArray(given) && given.length > 0 && given.every((word) => typeof word === "string")

const tell = (command, sessionID) => {
  const text = JSON.stringify({ type: IDLE, properties: { sessionID } })
  const child = spawn(command[0], [...command.slice(1), text], { detached: true, stdio: "ignore" })
  child.on("error", () => {}) // a program that is not there must not end OpenCode
  child.unref()
}

// The brief as text, empty when there is none.
const briefOf = (command, directory) =>
  new Promise((resolve) => {
    const words = [...command.slice(1), `--directory=${directory}`, `--seconds=${BRIEF_SECONDS}`]
    const child = spawn(command[0], words, { stdio: ["ignore", "pipe", "ignore"] })
    const clock = setTimeout(() => {
      child.kill("SIGKILL")
      resolve("")
    }, BRIEF_SECONDS * 1000)
    let text = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (part) => {
      text += part
    })
    child.on("error", () => {
      clearTimeout(clock)
      resolve("")
    })
    child.on("close", (status) => {
      clearTimeout(clock)
      resolve(status === 0 && Buffer.byteLength(text) <= BRIEF_BYTES ? text.trim() : "")
    })
  })

// What is there in time, empty for nothing: a session must start all the same.
const inTime = (brief) =>
  new Promise((resolve) => {
    const clock = setTimeout(resolve, WAIT_MILLISECONDS, "")
    brief.then((text) => {
      clearTimeout(clock)
      resolve(text)
    })
  })

// Each session's brief, asked for once: a system prompt that changed would spoil the model's cache.
const briefsOf = (command, directory) => {
  const asked = () => briefOf(command, directory).catch(() => "")
  const first = { at: Date.now(), brief: asked() } // so the first session hardly ever waits
  const begun = new Map()
  const told = new Map()
  const kept = (map, id, make) => {
    if (map.size >= SESSIONS && !map.has(id)) map.delete(map.keys().next().value)
    if (!map.has(id)) map.set(id, make())
    return map.get(id)
  }
  const begin = (id) =>
    kept(begun, id, () => (Date.now() - first.at < FRESH_MILLISECONDS ? first.brief : asked()))
  return {
    begin,
    leaveOut: (id) => kept(told, id, () => ""),
    tell: (id) => kept(told, id, () => inTime(begin(id))),
  }
}

// OpenCode calls every export of a plugin as one, so this is the only one.
export const SharedMemory = async (context, options) => {
  const command = isCommand(options?.command) ? options.command : COMMAND
  const briefs = isCommand(options?.brief) ? briefsOf(options.brief, context?.directory ?? ".") : null
  return {
    event: async (input) => {
      try {
        const { type, properties } = input.event
        if (type === IDLE && typeof properties.sessionID === "string") {
          tell(command, properties.sessionID)
        }
        if (type === CREATED && briefs) {
          const { id, parentID } = properties.info
          if (parentID) briefs.leaveOut(id) // a subagent is told by who sends it
          else briefs.begin(id)
        }
      } catch {
        // No signal this time: the client must never notice.
      }
    },
    "experimental.chat.system.transform": async (input, output) => {
      try {
        const id = input.sessionID
        const text = briefs && typeof id === "string" ? await briefs.tell(id) : ""
        if (text) output.system.push(text)
      } catch {
        // No brief this time.
      }
    },
  }
}
