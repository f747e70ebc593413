// The suite imports fs.globSync for a command that no test gives. Node 20 has no such thing.
import { register } from 'node:module'

const script = (text) => 'data:text/javascript,' + encodeURIComponent(text)
const fs = script('export * from "node:fs"; export function globSync() { throw new Error("Node 20 has no globSync") }')

register(script(`export function resolve(specifier, context, next) {
  if (specifier !== 'fs' || !context.parentURL.includes('/conformance/dist/')) return next(specifier, context)
  return { url: ${JSON.stringify(fs)}, shortCircuit: true }
}`))
