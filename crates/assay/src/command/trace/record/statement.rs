//! Statements of SQL that are about one row by its key.

use assay_trace::imported::Verb;

/// What a statement is to a trace of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyedStatement {
    /// One row of one table, by the value of one column.
    Keyed {
        /// What is done with it.
        verb: Verb,
        /// The table's name, without its schema.
        table: String,
        /// The key.
        key: SqlValue,
        /// What is written beside the key.
        written: Vec<SqlValue>,
    },
    /// Something else; the name under which it is counted.
    LeftOut(String),
}

/// A value in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SqlValue {
    /// It stands there.
    Literal(Vec<u8>),
    /// The parameter with this number, from 0.
    Parameter(usize),
    /// It is computed.
    Other,
}

/// The statements of a text, which semicolons separate.
pub fn split(sql: &[u8]) -> Vec<KeyedStatement> {
    let tokens = tokens(&String::from_utf8_lossy(sql));
    let statements = tokens.split(|token| *token == Token::Sign(';'));
    statements.filter(|tokens| !tokens.is_empty()).map(classify).collect()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A name or a keyword, in small letters unless quoted.
    Word(String),
    Text(Vec<u8>),
    Number(String),
    Parameter(usize),
    Sign(char),
}

impl Token {
    fn is(&self, word: &str) -> bool {
        matches!(self, Token::Word(other) if other == word)
    }

    fn term(&self) -> Option<SqlValue> {
        match self {
            Token::Text(bytes) => Some(SqlValue::Literal(bytes.clone())),
            Token::Number(digits) => Some(SqlValue::Literal(digits.clone().into_bytes())),
            Token::Parameter(number) => Some(SqlValue::Parameter(*number)),
            Token::Word(_) | Token::Sign(_) => None,
        }
    }
}

fn tokens(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '-' if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => {
                (None, rest.find("*/").map_or(rest.len(), |end| end + 2))
            }
            '\'' => {
                let (text, length) = quoted(rest, '\'');
                (Some(Token::Text(text.into_bytes())), length)
            }
            '"' => {
                let (name, length) = quoted(rest, '"');
                (Some(Token::Word(name)), length)
            }
            '$' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                let length = 1 + span(&rest[1..], |c| c.is_ascii_digit());
                let number: usize = rest[1..length].parse().unwrap_or(0);
                (Some(Token::Parameter(number.wrapping_sub(1))), length)
            }
            c if c.is_ascii_digit() => {
                let length = span(rest, |c| c.is_ascii_alphanumeric() || c == '.');
                (Some(Token::Number(rest[..length].to_owned())), length)
            }
            c if c.is_alphabetic() || c == '_' => {
                let length = span(rest, |c| c.is_alphanumeric() || c == '_');
                (Some(Token::Word(rest[..length].to_lowercase())), length)
            }
            c if c.is_whitespace() => (None, c.len_utf8()),
            c => (Some(Token::Sign(c)), c.len_utf8()),
        };
        tokens.extend(token);
        rest = &rest[length..];
    }
    tokens
}

/// How many bytes at the beginning are such characters.
fn span(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// A text in quotes, which are doubled within it; its length with them.
fn quoted(text: &str, quote: char) -> (String, usize) {
    let mut content = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((place, character)) = characters.next() {
        if character != quote {
            content.push(character);
        } else if characters.next_if(|(_, next)| *next == quote).is_some() {
            content.push(quote);
        } else {
            return (content, place + 1);
        }
    }
    (content, text.len())
}

fn classify(tokens: &[Token]) -> KeyedStatement {
    let name = match &tokens[0] {
        Token::Word(word) => word.to_uppercase(),
        _ => "(no keyword)".to_owned(),
    };
    let keyed = match name.as_str() {
        "SELECT" => select(tokens),
        "INSERT" => insert(tokens),
        "UPDATE" => update(tokens),
        "DELETE" => delete(tokens),
        _ => return KeyedStatement::LeftOut(name),
    };
    keyed.unwrap_or_else(|| KeyedStatement::LeftOut(format!("{name} of other than one key")))
}

/// The table's name at the beginning, and what is behind it.
fn table(tokens: &[Token]) -> Option<(String, &[Token])> {
    match tokens {
        [Token::Word(_), Token::Sign('.'), Token::Word(name), rest @ ..] => {
            Some((name.clone(), rest))
        }
        [Token::Word(name), rest @ ..] => Some((name.clone(), rest)),
        _ => None,
    }
}

/// Counts, token by token, how many parentheses are open behind it.
fn nesting() -> impl FnMut(&Token) -> i32 {
    let mut depth = 0;
    move |token| {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth -= 1,
            _ => {}
        }
        depth
    }
}

/// Where the word stands outside parentheses.
fn place(tokens: &[Token], word: &str) -> Option<usize> {
    let mut depth = nesting();
    tokens.iter().position(|token| depth(token) == 0 && token.is(word))
}

/// What commas outside parentheses separate.
fn parts(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let mut depth = nesting();
    tokens.split(move |token| depth(token) == 0 && *token == Token::Sign(','))
}

/// The key of a condition that is one column equal to one value, and no more.
fn key(condition: &[Token]) -> Option<SqlValue> {
    let end = ["order", "limit", "for", "returning", "group", "offset", "fetch"];
    let end = condition.iter().position(|token| end.iter().any(|word| token.is(word)));
    let mut condition = &condition[..end.unwrap_or(condition.len())];
    while let [Token::Sign('('), inner @ .., Token::Sign(')')] = condition {
        condition = inner;
    }
    let condition = match condition {
        [Token::Word(_), Token::Sign('.'), rest @ ..] => rest,
        condition => condition,
    };
    let [Token::Word(_), Token::Sign('='), value, cast @ ..] = condition else { return None };
    let is_cast = matches!(cast, [] | [Token::Sign(':'), Token::Sign(':'), Token::Word(_)]);
    value.term().filter(|_| is_cast)
}

fn select(tokens: &[Token]) -> Option<KeyedStatement> {
    let from = place(tokens, "from")?;
    let (table, rest) = table(&tokens[from + 1..])?;
    let begin = place(rest, "where")?;
    // An alias may stand between them; a comma or a join means another table.
    if !matches!(&rest[..begin], [] | [Token::Word(_)]) && !rest[0].is("as") {
        return None;
    }
    let key = key(&rest[begin + 1..])?;
    Some(KeyedStatement::Keyed { verb: Verb::Get, table, key, written: Vec::new() })
}

/// The key of an insert is its first value: a statement does not say which column it is.
fn insert(tokens: &[Token]) -> Option<KeyedStatement> {
    let into = place(tokens, "into")?;
    let (table, rest) = table(&tokens[into + 1..])?;
    let begin = place(rest, "values")?;
    let mut values = row(&rest[begin + 1..])?.into_iter();
    let key = values.next().filter(|key| *key != SqlValue::Other)?;
    Some(KeyedStatement::Keyed { verb: Verb::Set, table, key, written: values.collect() })
}

/// The values of the only row that begins here; none if a second follows.
fn row(tokens: &[Token]) -> Option<Vec<SqlValue>> {
    let [Token::Sign('('), rest @ ..] = tokens else { return None };
    let mut depth = nesting();
    let end = rest.iter().position(|token| depth(token) < 0)?;
    let has_more = rest.get(end + 1) == Some(&Token::Sign(','));
    (!has_more).then(|| terms(&rest[..end]))
}

/// The terms that commas outside parentheses separate.
fn terms(tokens: &[Token]) -> Vec<SqlValue> {
    let term = |part: &[Token]| match part {
        [value] | [value, Token::Sign(':'), Token::Sign(':'), Token::Word(_)] => {
            value.term().unwrap_or(SqlValue::Other)
        }
        _ => SqlValue::Other,
    };
    parts(tokens).map(term).collect()
}

fn update(tokens: &[Token]) -> Option<KeyedStatement> {
    let (table, rest) = table(&tokens[1..])?;
    let (set, begin) = (place(rest, "set")?, place(rest, "where")?);
    if place(rest, "from").is_some() || begin < set {
        return None;
    }
    let key = key(&rest[begin + 1..])?;
    let written = assignments(&rest[set + 1..begin]);
    Some(KeyedStatement::Keyed { verb: Verb::Change, table, key, written })
}

/// What is behind the equals signs of assignments.
fn assignments(tokens: &[Token]) -> Vec<SqlValue> {
    let value = |part: &[Token]| {
        let equals = part.iter().position(|token| *token == Token::Sign('='));
        let terms = equals.map(|equals| terms(&part[equals + 1..])).unwrap_or_default();
        terms.into_iter().next().unwrap_or(SqlValue::Other)
    };
    parts(tokens).map(value).collect()
}

fn delete(tokens: &[Token]) -> Option<KeyedStatement> {
    let from = place(tokens, "from")?;
    let (table, rest) = table(&tokens[from + 1..])?;
    let begin = place(rest, "where")?;
    if place(rest, "using").is_some() {
        return None;
    }
    let key = key(&rest[begin + 1..])?;
    Some(KeyedStatement::Keyed { verb: Verb::Delete, table, key, written: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn display(sql: &str) -> Vec<String> {
        let term = |term: &SqlValue| match term {
            SqlValue::Literal(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            SqlValue::Parameter(number) => format!("${}", number + 1),
            SqlValue::Other => "?".to_owned(),
        };
        let statement = |statement: KeyedStatement| match statement {
            KeyedStatement::LeftOut(name) => name,
            KeyedStatement::Keyed { verb, table, key, written } => {
                let written: Vec<String> = written.iter().map(term).collect();
                format!("{verb:?} {table} {} [{}]", term(&key), written.join(","))
            }
        };
        split(sql.as_bytes()).into_iter().map(statement).collect()
    }

    #[test]
    fn statements_about_one_row_by_its_key_are_taken() {
        for (sql, expected) in [
            ("SELECT * FROM usertable WHERE YCSB_KEY = $1", "Get usertable $1 []"),
            ("select a, b from s.\"T\" x where (x.id = 7) limit 1 for update", "Get T 7 []"),
            ("SELECT count(*) FROM t AS u WHERE id = $2::bigint", "Get t $2 []"),
            ("INSERT INTO t (id, a, b) VALUES ($1, 'it''s', f(1, 2))", "Set t $1 [it's,?]"),
            ("INSERT INTO t VALUES (1, 2) ON CONFLICT (id) DO NOTHING", "Set t 1 [2]"),
            ("UPDATE t SET a = $1, b = b + 1 WHERE id = 'x'", "Change t x [$1,?]"),
            ("DELETE FROM t -- gone\n WHERE id = /* the key */ 5", "Delete t 5 []"),
        ] {
            assert_eq!(display(sql), [expected], "{sql}");
        }
    }

    #[test]
    fn all_others_are_counted_by_name() {
        for (sql, expected) in [
            ("BEGIN", "BEGIN"),
            ("create table t (id int)", "CREATE"),
            ("SELECT 1", "SELECT of other than one key"),
            ("SELECT * FROM t WHERE id >= $1 ORDER BY id LIMIT 5", "SELECT of other than one key"),
            ("SELECT * FROM t WHERE id = 1 AND b = 2", "SELECT of other than one key"),
            ("SELECT * FROM t, u WHERE id = 1", "SELECT of other than one key"),
            ("SELECT * FROM t JOIN u ON t.a = u.a WHERE id = 1", "SELECT of other than one key"),
            ("SELECT * FROM t WHERE id = f(1)", "SELECT of other than one key"),
            ("INSERT INTO t VALUES (1), (2)", "INSERT of other than one key"),
            ("INSERT INTO t SELECT * FROM u", "INSERT of other than one key"),
            ("UPDATE t SET a = 1", "UPDATE of other than one key"),
            ("(SELECT 1)", "(no keyword)"),
        ] {
            assert_eq!(display(sql), [expected], "{sql}");
        }
        assert_eq!(display("BEGIN; COMMIT;"), ["BEGIN", "COMMIT"]);
        assert_eq!(display(" ; -- nothing"), [""; 0]);
        assert_eq!(display("'open"), ["(no keyword)"]);
    }
}
