"""Code that the scripts of these tests share: calls that must be refused."""


def refuses(call, *parts, kind=Exception):
    """`call` raises an exception of that kind with all `parts` in its text."""
    try:
        call()
    except kind as error:
        missing = [part for part in parts if part not in str(error)]
        assert not missing, f"{missing} not in: {error}"
        return
    raise AssertionError(f"nothing was raised, expected {parts}")
