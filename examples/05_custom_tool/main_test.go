package main

func Example() {
	main()
	// Output:
	// ok {"minutes":12,"mode":"bike"}
	// failed {"ok":false,"error_kind":"tool_execution_exception","message":"plan_route failed","detail":"there is no mode \"rocket\""}
	// failed {"ok":false,"error_kind":"invalid_tool_arguments","message":"the arguments of plan_route do not fit its schema","detail":"validating root: required: missing properties: [\"to\"]"}
	// Take the bike: 12 minutes.
}
