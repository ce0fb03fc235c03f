//! Rows of text under one another, aligned.

/// On which side the cells of a column are flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// A table whose cells are all of one line.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    class: &'static str,
}

impl Table {
    /// A table without rows; `columns` are the titles with the side of their cells.
    pub fn new(columns: &[(&str, Align)]) -> Table {
        let columns = columns.iter().map(|(title, side)| ((*title).to_owned(), *side)).collect();
        Table { columns, rows: Vec::new(), class: "" }
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If it has not as many cells as there are columns.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "a row has a cell for every column");
        self.rows.push(cells);
    }

    /// The table with the class that a page's style sheet has for it.
    pub fn of_class(self, class: &'static str) -> Table {
        Table { class, ..self }
    }

    /// The class that a page's style sheet has for it; empty for a usual one.
    pub fn class(&self) -> &'static str {
        self.class
    }

    /// The table with `change` made to each title and cell.
    pub fn mapped(&self, change: impl Fn(&str) -> String) -> Table {
        let columns = self.columns.iter().map(|(title, side)| (change(title), *side)).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| change(cell)).collect());
        Table { columns, rows: rows.collect(), class: self.class }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The titles with the side of their cells.
    pub fn columns(&self) -> &[(String, Align)] {
        &self.columns
    }

    /// The rows in order.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Lines for a fixed-width font, the titles first, without trailing blanks. Columns are two
    /// blanks apart.
    pub fn lines(&self) -> Vec<String> {
        let widths = self.widths();
        let titles: Vec<&str> = self.columns.iter().map(|(title, _)| title.as_str()).collect();
        let mut lines = vec![self.line(&titles, &widths)];
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            lines.push(self.line(&cells, &widths));
        }
        lines
    }

    /// A table in GitHub's Markdown, aligned for reading as plain text too.
    pub fn markdown(&self) -> String {
        let widths: Vec<usize> = self.widths().into_iter().map(|width| width.max(3)).collect();
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let aligned = |cells: Vec<&str>| {
            let cells = cells.iter().zip(&self.columns).zip(&widths);
            line(cells.map(|((cell, (_, side)), width)| pad(cell, *width, *side)).collect())
        };
        let mut out = aligned(self.columns.iter().map(|(title, _)| title.as_str()).collect());
        let rules = self.columns.iter().zip(&widths).map(|((_, side), width)| match side {
            Align::Left => "-".repeat(*width),
            Align::Right => format!("{}:", "-".repeat(width - 1)),
        });
        out.push_str(&line(rules.collect()));
        for row in &self.rows {
            out.push_str(&aligned(row.iter().map(String::as_str).collect()));
        }
        out
    }

    fn widths(&self) -> Vec<usize> {
        let widest = |place: usize, title: &String| {
            let cells = self.rows.iter().map(|row| row[place].chars().count());
            cells.chain([title.chars().count()]).max().unwrap_or(0)
        };
        self.columns.iter().enumerate().map(|(place, (title, _))| widest(place, title)).collect()
    }

    fn line(&self, cells: &[&str], widths: &[usize]) -> String {
        let cells = cells.iter().zip(&self.columns).zip(widths);
        let padded: Vec<String> =
            cells.map(|((cell, (_, side)), width)| pad(cell, *width, *side)).collect();
        padded.join("  ").trim_end().to_owned()
    }
}

fn pad(cell: &str, width: usize, side: Align) -> String {
    match side {
        Align::Left => format!("{cell:<width$}"),
        Align::Right => format!("{cell:>width$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("kind", Align::Left), ("p99", Align::Right)]);
        table.row(vec!["read".to_owned(), "1.20 µs".to_owned()]);
        table.row(vec!["update".to_owned(), "9 ns".to_owned()]);
        table
    }

    #[test]
    fn words_are_flush_left_and_numbers_flush_right() {
        assert_eq!(table().lines(), ["kind        p99", "read    1.20 µs", "update     9 ns"]);
    }

    #[test]
    fn markdown_reads_well_as_plain_text() {
        assert_eq!(
            table().markdown(),
            "| kind   |     p99 |\n| ------ | ------: |\n| read   | 1.20 µs |\n\
             | update |    9 ns |\n"
        );
    }
}
