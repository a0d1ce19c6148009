from workspace_server.process.environment import command_environment


def test_no_secret_of_the_server_reaches_a_command() -> None:
    inherited = {"PATH": "/bin", "HOME": "/home/me", "LC_ALL": "C", "API_TOKEN": "s3cret"}
    environment = command_environment(inherited, {}, tty=False)
    assert "s3cret" not in environment.values()
    assert environment["HOME"] == "/home/me"
    assert environment["LC_ALL"] == "C"


def test_pagers_editors_and_prompts_are_off_unless_asked_for() -> None:
    environment = command_environment({}, {"PAGER": "less"}, tty=False)
    assert environment["PAGER"] == "less"
    assert environment["GIT_PAGER"] == "cat"
    assert environment["GIT_TERMINAL_PROMPT"] == "0"


def test_only_a_terminal_is_told_that_it_is_one() -> None:
    assert command_environment({}, {}, tty=False)["TERM"] == "dumb"
    assert command_environment({}, {}, tty=True)["TERM"] == "xterm-256color"


def test_there_is_a_path_even_if_the_server_was_given_none() -> None:
    assert "/usr/bin" in command_environment({}, {}, tty=False)["PATH"]
