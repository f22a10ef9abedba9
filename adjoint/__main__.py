"""See adjoint.cli."""

from adjoint.cli import main

if __name__ == "__main__":
    main()
