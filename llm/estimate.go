package llm

import "github.com/openrath-go/rath/session"

// tokensOfReply is what a reply is taken for that the request does not bound.
const tokensOfReply = 1_000

// EstimateTokens guesses how many tokens a request and its reply will have together: the
// input's, and for the reply as many as the request allows it, or 1,000. It is for
// reservations, not for bills.
func EstimateTokens(req *Request) int {
	reply := max(req.Params.MaxTokens, req.Params.MaxCompletionTokens)
	if reply == 0 {
		reply = tokensOfReply
	}
	return EstimateInput(req) + reply + req.Params.ThinkingTokens
}

// EstimateInput guesses how many tokens a request has: those of its transcripts, tools and
// schema, as [session.Tokens] has them. Servers count otherwise.
func EstimateInput(req *Request) int {
	n := req.Prompt.Tokens() + req.Messages.Tokens()
	for _, t := range req.Tools {
		n += session.Tokens(t.Name) + session.Tokens(t.Description) + session.Tokens(string(t.Schema))
	}
	return n + session.Tokens(string(req.Params.ResponseFormat.Schema))
}
