//! A terminal for the binary, with what it shows.

use std::fs;
use std::io::Write;
use std::process::{ChildStdin, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{ASSAY, Place, Running, wait_until};

/// The size of the screen.
const ROWS: usize = 24;
const COLUMNS: usize = 80;

/// The binary in a terminal of its own, made by `script` of util-linux.
pub struct Terminal<'a> {
    place: &'a Place,
    keys: ChildStdin,
    running: Running,
}

impl Terminal<'_> {
    /// Starts the binary; its standard output goes to the file `out`.
    pub fn start<'a>(place: &'a Place, words: &str) -> Terminal<'a> {
        let lines = [
            // Every process of the foreground group receives Ctrl-C; this shell has to print the
            // exit code.
            "trap : INT".to_owned(),
            format!("stty rows {ROWS} cols {COLUMNS}"),
            "stty -g > before".to_owned(),
            format!("sh -c 'echo $$ > pid; exec {ASSAY} {words} > out'"),
            "echo $? > code".to_owned(),
            "stty -g > after".to_owned(),
        ];
        place.write("go.sh", lines.join("\n"));
        let mut script = place.program("script");
        script.args(["-qfc", "sh go.sh", "screen"]).env("TERM", "xterm").stdin(Stdio::piped());
        let (running, keys) = place.spawn_with_input(script);
        Terminal { place, keys, running }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal is there");
    }

    /// Sends a signal to the binary.
    pub fn signal(&self, signal: Signal) {
        let pid = self.place.read("pid").trim().parse().expect("a shell wrote its number");
        kill_process(Pid::from_raw(pid).expect("no process has number 0"), signal).expect("ours");
    }

    /// Everything that was written to the terminal.
    pub fn written(&self) -> String {
        let bytes = fs::read(self.place.path("screen")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// What the screen shows now.
    pub fn screen(&self) -> String {
        screen(&self.written())
    }

    /// Waits until the screen shows `text`.
    pub fn wait_for(&self, text: &str) {
        wait_until(&format!("the screen shows {text:?}"), || self.screen().contains(text));
    }

    /// Waits for the end; the code of the binary, and whether the terminal is as it was.
    pub fn end(self) -> (i32, bool) {
        let Terminal { place, keys, running } = self;
        // As long as there is somebody at the keyboard, `script` stays.
        wait_until("the binary has ended", || place.path("after").exists());
        drop(keys);
        running.wait();
        let code = place.read("code").trim().parse().expect("a shell wrote it");
        (code, place.read("before") == place.read("after"))
    }
}

/// Whether a dashboard filled the terminal and gave it back, with the cursor.
pub fn is_given_back(written: &str) -> bool {
    let last = |sequence: &str| written.rfind(sequence);
    let (up, down) = (last("\u{1b}[?1049h"), last("\u{1b}[?1049l"));
    let (hidden, displayed) = (last("\u{1b}[?25l"), last("\u{1b}[?25h"));
    up.is_some() && up < down && hidden < displayed
}

/// The screen after `written`, as far as the sequences are known that a dashboard uses.
pub fn screen(written: &str) -> String {
    let mut cells = vec![[' '; COLUMNS]; ROWS];
    let (mut row, mut column) = (0, 0);
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' if letters.next_if_eq(&'[').is_some() => {
                let mut parameters = String::new();
                while let Some(next) = letters.next_if(|next| !('@'..='~').contains(next)) {
                    parameters.push(next);
                }
                let numbers: Vec<usize> =
                    parameters.split(';').filter_map(|number| number.parse().ok()).collect();
                match (letters.next(), &numbers[..]) {
                    (Some('H'), [to_row, to_column]) => (row, column) = (to_row - 1, to_column - 1),
                    (Some('J'), [2]) => cells = vec![[' '; COLUMNS]; ROWS],
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => row += 1,
            letter if letter.is_control() => {}
            letter => {
                if let Some(cell) = cells.get_mut(row).and_then(|row| row.get_mut(column)) {
                    *cell = letter;
                }
                column += 1;
            }
        }
    }
    let lines = cells.iter().map(|row| row.iter().collect::<String>());
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}
