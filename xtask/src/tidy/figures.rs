//! Figures in the documents that no command repeats.

use crate::tidy::finding::Finding;
use crate::tidy::prose::Page;

const README: &str = "README.md";
const NUMBERS: &str = "docs/numbers.md";
const UNITS: [&str; 8] = ["ms", "µs", "ns", "k/s", "M/s", "/s", "×", "%"];
const COMMANDS: [&str; 3] = ["assay ", "cargo xtask ", "cargo bench "];

/// A paragraph of the README with a figure, a section of the numbers: each names its command.
pub fn check_figures(pages: &[Page]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in pages.iter().filter(|page| [README, NUMBERS].contains(&page.path.as_str())) {
        for (line, part) in parts(page) {
            let figure = figure(&part).filter(|_| !names_a_command(&part));
            let Some(figure) = figure else { continue };
            let advice = format!("name the command that repeats `{figure}`, as a code span here");
            findings.push(page.finding(line, "figures", advice));
        }
    }
    findings
}

/// The sections of the numbers, the paragraphs or items of the README, without blocks of code.
fn parts(page: &Page) -> Vec<(usize, String)> {
    let mut parts = vec![(1, String::new())];
    let mut in_code = false;
    for (index, line) in page.text.lines().enumerate() {
        let is_start = match page.path.as_str() {
            NUMBERS => line.starts_with('#'),
            _ => line.trim().is_empty() || line.starts_with(['*', '-', '#']),
        };
        if line.starts_with("```") {
            in_code = !in_code;
        } else if !in_code && is_start {
            parts.push((index + 1, line.to_owned()));
        } else if !in_code {
            let (_, part) = parts.last_mut().expect("there is always a part");
            part.push(' ');
            part.push_str(line);
        }
    }
    parts
}

fn names_a_command(part: &str) -> bool {
    let is_command = |span: &str| COMMANDS.iter().any(|command| span.contains(command));
    part.split('`').skip(1).step_by(2).any(is_command)
}

/// The first number with a unit outside code.
fn figure(part: &str) -> Option<String> {
    let prose: String = part.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ",.".contains(c))
    };
    let mut before = "";
    for word in prose.split_whitespace() {
        let word = word.trim_matches(|c: char| "()[]|*;:,.>≥≤<+".contains(c));
        let unit = UNITS.iter().find(|unit| word.ends_with(**unit));
        let number = unit.map(|unit| word.trim_end_matches(unit));
        if number.is_some_and(|number| is_number(number) || number.is_empty() && is_number(before))
        {
            return Some(if is_number(before) {
                format!("{before} {word}")
            } else {
                word.to_owned()
            });
        }
        before = word;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let page = Page { path: path.to_owned(), text: text.to_owned() };
        check_figures(&[page]).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_figure_of_the_readme_needs_a_command_in_its_paragraph() {
        assert_eq!(lines(README, "It takes 3.5 ms.\n\n`assay bench` says so.\n"), [1]);
        assert_eq!(lines(README, "It takes 3.5 ms,\nsays `assay bench ycsb-a`.\n"), [0; 0]);
        assert_eq!(lines(README, "a\n\n| x | 20 k/s |\n"), [2]);
        assert_eq!(lines(README, "* `assay run`: 5 %\n* twice as fast: 2×\n"), [2]);
    }

    #[test]
    fn numbers_without_unit_or_in_code_are_no_figures() {
        assert_eq!(lines(README, "16 systems of 2026, YCSB 0.17, `p99<5 ms`, items\n"), [0; 0]);
        assert_eq!(lines(README, "```\n--rate 20k/s\n```\n"), [0; 0]);
        assert_eq!(lines("docs/load.md", "It takes 3.5 ms.\n"), [0; 0]);
    }

    #[test]
    fn a_section_of_the_numbers_needs_a_command() {
        assert_eq!(lines(NUMBERS, "# A\n\n`cargo xtask bench`\n\n5 ms\n\n## B\n\n6 ms\n"), [7]);
    }
}
