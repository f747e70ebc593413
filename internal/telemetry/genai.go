package telemetry

import "go.opentelemetry.io/otel/attribute"

// The names of the GenAI semantic conventions as of release v1.41.1 of
// github.com/open-telemetry/semantic-conventions (11 May 2026), the last that has them; they
// are in development still, and have moved to semantic-conventions-genai, which has no
// release. They are pinned here, so that a newer library changes nothing of what is sent.
const (
	keyOperation     = attribute.Key("gen_ai.operation.name")
	keyProvider      = attribute.Key("gen_ai.provider.name")
	keyConversation  = attribute.Key("gen_ai.conversation.id")
	keyErrorType     = attribute.Key("error.type")
	keyWorkflow      = attribute.Key("gen_ai.workflow.name")
	keyAgent         = attribute.Key("gen_ai.agent.name")
	keyAgentText     = attribute.Key("gen_ai.agent.description")
	keyTool          = attribute.Key("gen_ai.tool.name")
	keyToolText      = attribute.Key("gen_ai.tool.description")
	keyToolType      = attribute.Key("gen_ai.tool.type")
	keyToolCall      = attribute.Key("gen_ai.tool.call.id")
	keyDimensions    = attribute.Key("gen_ai.embeddings.dimension.count")
	keyOutputType    = attribute.Key("gen_ai.output.type")
	keyModel         = attribute.Key("gen_ai.request.model")
	keyStream        = attribute.Key("gen_ai.request.stream")
	keyMaxTokens     = attribute.Key("gen_ai.request.max_tokens")
	keyTemperature   = attribute.Key("gen_ai.request.temperature")
	keyTopP          = attribute.Key("gen_ai.request.top_p")
	keyFrequency     = attribute.Key("gen_ai.request.frequency_penalty")
	keyPresence      = attribute.Key("gen_ai.request.presence_penalty")
	keySeed          = attribute.Key("gen_ai.request.seed")
	keyChoices       = attribute.Key("gen_ai.request.choice.count")
	keyStops         = attribute.Key("gen_ai.request.stop_sequences")
	keyAnswered      = attribute.Key("gen_ai.response.model")
	keyReplyID       = attribute.Key("gen_ai.response.id")
	keyFinish        = attribute.Key("gen_ai.response.finish_reasons")
	keyFirstChunk    = attribute.Key("gen_ai.response.time_to_first_chunk")
	keyInput         = attribute.Key("gen_ai.usage.input_tokens")
	keyOutput        = attribute.Key("gen_ai.usage.output_tokens")
	keyCacheRead     = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyCacheWrite    = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	keyReasoning     = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	keyTokenType     = attribute.Key("gen_ai.token.type")
	keyInstructions  = attribute.Key("gen_ai.system_instructions")
	keyMessages      = attribute.Key("gen_ai.input.messages")
	keyReply         = attribute.Key("gen_ai.output.messages")
	keyToolArguments = attribute.Key("gen_ai.tool.call.arguments")
	keyToolResult    = attribute.Key("gen_ai.tool.call.result")
)

// What the conventions have no name for.
const (
	keyRun           = attribute.Key("rath.run.id")
	keyRunMode       = attribute.Key("rath.run.mode")
	keyRunState      = attribute.Key("rath.run.state")
	keyRunSource     = attribute.Key("rath.run.source")
	keySessionInput  = attribute.Key("rath.session.input")
	keySessionOutput = attribute.Key("rath.session.output")
	keyToolClass     = attribute.Key("rath.tool.class")
	keyToolOutcome   = attribute.Key("rath.tool.outcome")
	keyCached        = attribute.Key("rath.reply.cached")
	keyAttempt       = attribute.Key("rath.attempt.number")
	keyAttemptWait   = attribute.Key("rath.attempt.wait")
)

// The operations.
const (
	opChat       = "chat"
	opEmbeddings = "embeddings"
	opAgent      = "invoke_agent"
	opTool       = "execute_tool"
	opWorkflow   = "invoke_workflow"
)

// The metrics.
const (
	metricDuration   = "gen_ai.client.operation.duration"
	metricTokens     = "gen_ai.client.token.usage"
	metricFirstChunk = "gen_ai.client.operation.time_to_first_chunk"
)

// The bounds of the histograms that the conventions want.
var (
	boundsSeconds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	boundsTokens  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)
