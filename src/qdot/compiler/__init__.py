"""Expressions, programs, and what can be done with them: trace, interpret, differentiate. It knows no mechanics."""
