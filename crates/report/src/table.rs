//! Rows of text under one another, aligned.

use std::fmt::Display;

use crate::escape::quoted;

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

    /// A table under way with a row for each of `items`.
    pub fn of<T>(items: impl IntoIterator<Item = T>) -> TableBuilder<T> {
        let items: Vec<T> = items.into_iter().collect();
        let rows = items.iter().map(|_| Vec::new()).collect();
        TableBuilder { items, table: Table { columns: Vec::new(), rows, class: "" } }
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

    /// The table, unless it has no rows.
    pub fn filled(self) -> Option<Table> {
        (!self.is_empty()).then_some(self)
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

    /// The table as CSV with RFC 4180 quoting, `\n` line ends.
    pub fn csv(&self) -> String {
        let line = |cells: Vec<&String>| {
            let cells = cells.into_iter().map(|cell| quoted(cell));
            cells.collect::<Vec<_>>().join(",") + "\n"
        };
        let titles = line(self.columns.iter().map(|(title, _)| title).collect());
        let rows = self.rows.iter().map(|row| line(row.iter().collect()));
        titles + &rows.collect::<String>()
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

/// A table under way, whose columns come one after the other with their cells.
pub struct TableBuilder<T> {
    items: Vec<T>,
    table: Table,
}

impl<T> TableBuilder<T> {
    /// With a column of words.
    pub fn left<C: Display>(self, title: &str, cell: impl Fn(&T) -> C) -> TableBuilder<T> {
        self.columns(Align::Left, [title], |item| [cell(item)])
    }

    /// With a column of numbers.
    pub fn right<C: Display>(self, title: &str, cell: impl Fn(&T) -> C) -> TableBuilder<T> {
        self.columns(Align::Right, [title], |item| [cell(item)])
    }

    /// With a column of words if `is_there`.
    pub fn left_if<C: Display>(
        self,
        is_there: bool,
        title: &str,
        cell: impl Fn(&T) -> C,
    ) -> TableBuilder<T> {
        if is_there { self.left(title, cell) } else { self }
    }

    /// With a column of numbers if `is_there`.
    pub fn right_if<C: Display>(
        self,
        is_there: bool,
        title: &str,
        cell: impl Fn(&T) -> C,
    ) -> TableBuilder<T> {
        if is_there { self.right(title, cell) } else { self }
    }

    /// With a column for each of `titles`.
    ///
    /// # Panics
    /// If an item has not as many cells as there are titles.
    pub fn columns<C: Display, R: IntoIterator<Item = C>>(
        mut self,
        side: Align,
        titles: impl IntoIterator<Item = impl Into<String>>,
        cells: impl Fn(&T) -> R,
    ) -> TableBuilder<T> {
        let Table { columns, rows, .. } = &mut self.table;
        columns.extend(titles.into_iter().map(|title| (title.into(), side)));
        for (row, item) in rows.iter_mut().zip(&self.items) {
            row.extend(cells(item).into_iter().map(|cell| cell.to_string()));
            assert_eq!(row.len(), columns.len(), "a row has a cell for every column");
        }
        self
    }

    /// The table.
    pub fn build(self) -> Table {
        self.table
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
        Table::of([("read", "1.20 µs"), ("update", "9 ns")])
            .left("kind", |(kind, _)| *kind)
            .right("p99", |(_, p99)| *p99)
            .build()
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
