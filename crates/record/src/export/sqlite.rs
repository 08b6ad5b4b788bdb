//! SQLite: all tables in one file.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::path::Path;

use lowtide_model::Event;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, params_from_iter};

use super::table::{Sink, Table, Type, Value};
use super::tables::{Rows, TABLES};
use super::{Draft, failed};
use crate::error::RecordError;

/// Writes a run to the SQLite file `out`.
pub fn sqlite<E: Borrow<Event>>(events: impl IntoIterator<Item = E>, out: &Path) -> Result<(), RecordError> {
    // SQLite opens by name; the file is made first so that what is wrong with the folder is said plainly, and emptied.
    let (draft, file) = Draft::create(out)?;
    drop(file);
    write(events, &draft.path).map_err(failed(out))?;
    draft.done()
}

fn write<E: Borrow<Event>>(events: impl IntoIterator<Item = E>, path: &Path) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    // Nobody sees the file before it is whole, so that a journal would protect nothing.
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN")?;
    let mut inserts = Inserts { by_table: HashMap::new() };
    for table in TABLES {
        connection.execute_batch(&create(table))?;
        inserts.by_table.insert(table.name, connection.prepare(&insert(table))?);
    }
    let mut rows = Rows::default();
    for event in events {
        rows.event(event.borrow(), &mut inserts)?;
    }
    rows.finish(&mut inserts)?;
    drop(inserts);
    connection.execute_batch("CREATE INDEX process_ticks_by_process ON process_ticks (process_index, t_s); COMMIT")?;
    connection.close().map_err(|(_, error)| error)
}

fn create(table: &Table) -> String {
    let kind = |kind: &Type| match kind {
        Type::Integer => "INTEGER",
        Type::Real => "REAL",
        Type::Text => "TEXT",
    };
    let columns: Vec<String> = table.columns.iter().map(|(name, of)| format!("{name} {}", kind(of))).collect();
    format!("CREATE TABLE {} ({})", table.name, columns.join(", "))
}

fn insert(table: &Table) -> String {
    let marks = vec!["?"; table.columns.len()].join(", ");
    format!("INSERT INTO {} VALUES ({marks})", table.name)
}

struct Inserts<'a> {
    by_table: HashMap<&'static str, rusqlite::Statement<'a>>,
}

impl Sink for Inserts<'_> {
    type Error = rusqlite::Error;

    fn row(&mut self, table: &'static Table, values: &[Value]) -> rusqlite::Result<()> {
        if let Some(statement) = self.by_table.get_mut(table.name) {
            statement.execute(params_from_iter(values))?;
        }
        Ok(())
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}
