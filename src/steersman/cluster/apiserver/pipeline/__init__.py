"""What a request passes before its verb: path, options, body, impersonation, fairness, authorization."""
