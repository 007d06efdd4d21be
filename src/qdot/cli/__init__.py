"""The command line: `qdot show`, `qdot convert`, `qdot doctor`. One command a module; `main` has the table of them."""
