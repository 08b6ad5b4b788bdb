//! What a table is: names and types of its columns, and with each column the value that a row has in it.

use std::sync::Arc;

/// The type of a column. Every value may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Real,
    Text,
}

/// A value. Unsigned numbers beyond `i64` are cut to it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(Arc<str>),
}

/// A table's name and columns.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, Type)],
}

/// Takes the rows as they come: the table, and a value per column.
pub(super) trait Sink {
    type Error;
    fn row(&mut self, table: &'static Table, values: &[Value]) -> Result<(), Self::Error>;
}

/// A table and the function that makes a row of it, column by column.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident $name:literal, $row:ident($($of:ident: $type:ty),*) {
        $($column:ident: $kind:ident = $value:expr),* $(,)?
    }) => {
        $(#[$doc])*
        pub(super) const $table: Table =
            Table { name: $name, columns: &[$((stringify!($column), super::table::Type::$kind)),*] };

        #[doc = concat!("A row of `", $name, "`.")]
        pub(super) fn $row($($of: $type),*) -> [Value; $table.columns.len()] {
            [$(Value::from($value)),*]
        }
    };
}
pub(super) use table;

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Self {
        Self::Integer(yes.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<&Arc<str>> for Value {
    fn from(text: &Arc<str>) -> Self {
        Self::Text(Arc::clone(text))
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The name of a role, a kind or a mode as the recording has it: `dataloader_worker`.
pub(super) fn word<T: serde::Serialize>(value: &T) -> Arc<str> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word.into(),
        _ => "".into(),
    }
}
