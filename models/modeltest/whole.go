package modeltest

import "encoding/json"

// decoded returns an event with JSON's types.
func decoded(event any) (o object) {
	_ = json.Unmarshal(encode(event), &o) // it is an object
	return o
}

// whole is the message that the events make.
func (anthropic) whole(events []any) any {
	var message object
	var blocks []any
	for _, e := range events {
		e := decoded(e)
		switch delta, _ := e["delta"].(object); e["type"] {
		case "message_start":
			message = e["message"].(object)
		case "content_block_start":
			blocks = append(blocks, e["content_block"])
		case "content_block_delta":
			block := blocks[len(blocks)-1].(object)
			for _, key := range []string{"text", "thinking", "signature"} {
				if more, ok := delta[key].(string); ok {
					before, _ := block[key].(string)
					block[key] = before + more
				}
			}
			if more, ok := delta["partial_json"].(string); ok {
				before, _ := block["half"].(string)
				block["half"] = before + more
			}
		case "message_delta":
			message["stop_reason"] = delta["stop_reason"]
			message["usage"].(object)["output_tokens"] = e["usage"].(object)["output_tokens"]
		}
	}
	for _, b := range blocks {
		if half, ok := b.(object)["half"].(string); ok {
			b.(object)["input"] = json.RawMessage(half)
			delete(b.(object), "half")
		}
	}
	message["content"] = blocks
	return message
}

// whole is the response that the events make.
func (responses) whole(events []any) any {
	var response object
	output := []any{}
	for _, e := range events {
		e := decoded(e)
		if item := e["item"]; e["type"] == "response.output_item.done" {
			output = append(output, item)
		}
		if r, ok := e["response"].(object); ok {
			response = r
		}
	}
	response["output"] = output
	return response
}

// whole is the list of responses that a stream without server-sent events is.
func (gemini) whole(events []any) any { return events }
