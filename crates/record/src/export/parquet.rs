//! Parquet: a table is a file there, so `run.parquet` has the ticks of processes and the other tables stand beside it, as
//! `run.processes.parquet` and so on.

use std::borrow::Borrow;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lowtide_model::Event;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types;

use super::table::{Sink, Table, Type, Value};
use super::tables::{PROCESS_TICKS, Rows, TABLES};
use super::{Draft, failed};
use crate::error::RecordError;

/// Rows that are written at a time, and kept in memory until then: a few megabytes of them.
const GROUP: usize = 1 << 15;

/// Writes a run to the Parquet file `out` and its siblings.
pub fn parquet<E: Borrow<Event>>(events: impl IntoIterator<Item = E>, out: &Path) -> std::result::Result<(), RecordError> {
    let mut files = Files(Vec::new());
    for table in TABLES {
        let path = path_of(out, table);
        let (draft, file) = Draft::create(&path)?;
        files.0.push(TableFile::new(table, file, draft).map_err(failed(&path))?);
    }
    let mut rows = Rows::default();
    for event in events {
        rows.event(event.borrow(), &mut files).map_err(failed(out))?;
    }
    rows.finish(&mut files).map_err(failed(out))?;
    let mut drafts = Vec::new();
    for file in files.0 {
        drafts.push(file.close().map_err(failed(out))?);
    }
    drafts.into_iter().try_for_each(Draft::done)
}

fn path_of(out: &Path, table: &Table) -> PathBuf {
    if table.name == PROCESS_TICKS.name {
        return out.to_owned();
    }
    let extension = out.extension().and_then(|extension| extension.to_str()).unwrap_or("parquet");
    out.with_extension(format!("{}.{extension}", table.name))
}

/// One table on its way into its file.
struct TableFile {
    table: &'static Table,
    writer: SerializedFileWriter<File>,
    draft: Draft,
    columns: Vec<Vec<Value>>,
}

impl TableFile {
    fn new(table: &'static Table, file: File, draft: Draft) -> Result<Self> {
        let fields = table.columns.iter().map(|(name, of)| field(name, *of).map(Arc::new)).collect::<Result<Vec<_>>>()?;
        let schema = types::Type::group_type_builder(table.name).with_fields(fields).build()?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(WriterProperties::builder().build()))?;
        Ok(Self { table, writer, draft, columns: vec![Vec::new(); table.columns.len()] })
    }

    fn push(&mut self, values: &[Value]) -> Result<()> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value.clone());
        }
        if self.columns[0].len() >= GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for (values, (_, of)) in self.columns.iter_mut().zip(self.table.columns) {
            if let Some(mut column) = group.next_column()? {
                put(&mut column, values, *of)?;
                column.close()?;
            }
            values.clear();
        }
        group.close()?;
        Ok(())
    }

    fn close(mut self) -> Result<Draft> {
        if !self.columns[0].is_empty() {
            self.flush()?;
        }
        self.writer.close()?;
        Ok(self.draft)
    }
}

fn field(name: &str, of: Type) -> Result<types::Type> {
    let (physical, logical) = match of {
        Type::Integer => (Physical::INT64, None),
        Type::Real => (Physical::DOUBLE, None),
        Type::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    types::Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()
}

/// Writes a column: which rows have a value, and the values.
fn put(column: &mut SerializedColumnWriter<'_>, values: &[Value], of: Type) -> Result<()> {
    let present: Vec<i16> = values.iter().map(|value| i16::from(*value != Value::Null)).collect();
    let present = Some(present.as_slice());
    match of {
        Type::Integer => {
            let numbers: Vec<i64> =
                values.iter().filter_map(|value| if let Value::Integer(number) = value { Some(*number) } else { None }).collect();
            column.typed::<Int64Type>().write_batch(&numbers, present, None)?;
        }
        Type::Real => {
            let numbers: Vec<f64> =
                values.iter().filter_map(|value| if let Value::Real(number) = value { Some(*number) } else { None }).collect();
            column.typed::<DoubleType>().write_batch(&numbers, present, None)?;
        }
        Type::Text => {
            let texts = values
                .iter()
                .filter_map(|value| if let Value::Text(text) = value { Some(ByteArray::from(&**text)) } else { None });
            column.typed::<ByteArrayType>().write_batch(&texts.collect::<Vec<_>>(), present, None)?;
        }
    }
    Ok(())
}

struct Files(Vec<TableFile>);

impl Sink for Files {
    type Error = parquet::errors::ParquetError;

    fn row(&mut self, table: &'static Table, values: &[Value]) -> Result<()> {
        match self.0.iter_mut().find(|file| file.table.name == table.name) {
            Some(file) => file.push(values),
            None => Ok(()),
        }
    }
}
