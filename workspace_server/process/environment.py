"""The environment of commands, by one stated rule: chosen names in, prompts off, overrides last."""

from collections.abc import Mapping

_WHO_AND_WHERE = """
    HOME LANG LANGUAGE LOGNAME PATH SHELL TMPDIR TZ USER
    XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR
"""
_TOOLCHAINS = """
    CARGO_HOME CC CFLAGS CXX CXXFLAGS DOTNET_ROOT GOPATH GOROOT JAVA_HOME LD_LIBRARY_PATH LDFLAGS
    NODE_PATH NPM_CONFIG_PREFIX NVM_DIR PKG_CONFIG_PATH PYENV_ROOT RUSTUP_HOME VIRTUAL_ENV
"""
_NETWORK = """
    ALL_PROXY HTTPS_PROXY HTTP_PROXY NO_PROXY all_proxy http_proxy https_proxy no_proxy
    CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS PIP_CERT REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE
"""
INHERITED = frozenset((_WHO_AND_WHERE + _TOOLCHAINS + _NETWORK).split())
INHERITED_PREFIXES = ("LC_",)

# Nobody sits there to page, to edit or to answer; and output should come as it is written.
UNATTENDED: Mapping[str, str] = {
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "true",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "MANPAGER": "cat",
    "PAGER": "cat",
    "PYTHONUNBUFFERED": "1",
    "SYSTEMD_PAGER": "cat",
    "VISUAL": "true",
}

RULE = (
    "Inherited: HOME, PATH, locale, user, toolchain and proxy variables, nothing else. "
    "Set: pagers to cat, editors to true, prompts off, TERM. The env argument comes last."
)
_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def command_environment(
    inherited: Mapping[str, str], overrides: Mapping[str, str], *, tty: bool
) -> dict[str, str]:
    """Return the whole environment of a command.

    `inherited` is the environment the server was started with; of it only `INHERITED` passes, so
    no secret of the server's does.
    """
    passed = {
        name: value
        for name, value in inherited.items()
        if name in INHERITED or name.startswith(INHERITED_PREFIXES)
    }
    term = {"TERM": "xterm-256color" if tty else "dumb"}
    return {"PATH": _DEFAULT_PATH, **passed, **UNATTENDED, **term, **overrides}
