"""Run the test cases that the Internet-Draft on BBR (draft-ietf-ccwg-bbr) defines."""
