//! The text at the end of each command's `--help`.

/// The text after a command's options: its examples, and the help that all commands have in common. No line has more than 80 characters. A line that
/// ends in a colon begins a section; the manual pages rely on that.
macro_rules! after {
    ($($example:literal)*) => {
        concat!("Examples:\n", $("  ", $example, "\n",)* "\n", after!(common))
    };
    (common) => {
        "\
Selectors:
  NAME                     by name: net.trace, net.*, 'app::HOOKS[3]';
                           * is any text, ? one character
  file:PATH[:LINE[-LINE]]  by the file of the declaration, or the last
                           components of its path; these lines of it
  fn:NAME                  by a function that has a site, or that such a
                           function was inlined into; not of a process
  obj:PATH                 by the program or the shared library
In a selector for a process, write ? for each blank and comma.

Values, after a selector:
  =on, =off                a key
  =NUMBER                  a mode
  =FUNCTION                a static call; `set` changes none
  +1, -1                   a user of a key more or less, for `set`

Processes:
  PID, @NAME, SOCKET       of a program that has an agent, by JUMPLABEL_AGENT=1
                           or by itself; it is not stopped
  --force PID              of one that has none: list and set of keys, and
                           check of all, where ptrace is allowed; `set` asks
                           an agent if it finds one
`sites` and `disasm` of a PID read its memory, too, and need no --force.

Exit codes:
  0  as asked
  1  nothing matched a selector, or something differs
  2  the command line is wrong
  3  out of reach: there is no such file, or it is no linked ELF or PE file
     of an instruction set that has sites; no agent answers
  4  refused: the file is damaged, or code and tables differ; the program or
     its system forbids it"
    };
}
pub(super) use after;
