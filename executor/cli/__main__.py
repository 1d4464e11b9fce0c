"""``python -m executor.cli``: the command without its script, for processes that the product starts itself."""

from executor.cli import main

if __name__ == "__main__":
    main()
