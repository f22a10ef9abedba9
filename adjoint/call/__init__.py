"""The path of a call, from a public function to a result and its node."""
