// The OpenCode plugin of Shared Memory: says, after each turn, that a session has something new.
//
// In opencode.json:  "plugin": [["file:///…/shared-memory.js", {"command": ["memory-import", …]}]]
// `command` is what is started, with the event as JSON after it; `memory connect` writes it. Without
// it, `memory-import` has to be in the PATH. A copy in ~/.config/opencode/plugins works as well.
//
// It waits for nothing and throws nothing: OpenCode goes on as if it were not there. What it misses
// is found by the next import. Events as OpenCode 1.18.33 sends them.

import { spawn } from "node:child_process"

const COMMAND = ["memory-import", "--notify", "opencode"]
const IDLE = "session.idle"

const commandOf = (options) => {
  const given = options?.command
  const isCommand = Array.isArray(given) && given.length > 0 && given.every((word) => typeof word === "string")
  return isCommand ? given : COMMAND
}

const tell = (command, sessionID) => {
  const text = JSON.stringify({ type: IDLE, properties: { sessionID } })
  const child = spawn(command[0], [...command.slice(1), text], { detached: true, stdio: "ignore" })
  child.on("error", () => {}) // a program that is not there must not end OpenCode
  child.unref()
}

// OpenCode calls every export of a plugin as one, so this is the only one.
export const SharedMemory = async (_context, options) => ({
  event: async (input) => {
    try {
      const event = input?.event
      const sessionID = event?.properties?.sessionID
      if (event?.type === IDLE && typeof sessionID === "string") {
        tell(commandOf(options), sessionID)
      }
    } catch {
      // No signal this time: the client must never notice.
    }
  },
})
