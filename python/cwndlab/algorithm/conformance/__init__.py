"""Run the test cases that an Internet-Draft defines for BBR, and check the observed behaviour."""
