//! Where a build of torch keeps the fields of a tensor.
//!
//! The table holds what `calibrate.py` learned of some builds. Which row fits is found by looking at the tensors that are
//! there: a number of elements that is the product of the sizes, a storage that is one, a Python object that points back.

use std::collections::HashMap;

/// Offsets in bytes; 0 where not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The release that it was learned from.
    pub torch: String,
    /// `THPVariable` to `TensorImpl`.
    pub python_impl: u64,
    /// In `TensorImpl`: pointer to the `StorageImpl`.
    pub storage: u64,
    /// Pointer to the `AutogradMeta`, null where nothing needs one.
    pub autograd: u64,
    /// Pointer to the Python object; its lowest bit may be a flag.
    pub pyobj: u64,
    /// Number of dimensions.
    pub ndim: u64,
    /// Sizes: up to five in place, more behind a pointer.
    pub sizes: u64,
    /// Strides, in place where the sizes are, else behind them.
    pub strides: u64,
    /// First element in the storage.
    pub offset: u64,
    /// Number of elements.
    pub numel: u64,
    /// Number of the type of the elements, 2 bytes.
    pub dtype: u64,
    /// Type and index of the device, a byte each.
    pub device: u64,
    /// In `StorageImpl`: address of the data.
    pub data: u64,
    /// Bytes of the data.
    pub nbytes: u64,
    /// In `AutogradMeta`: the gradient's `TensorImpl`.
    pub grad: u64,
    /// The node that made the tensor.
    pub grad_fn: u64,
    /// Whether a leaf asks for gradients, 1 byte.
    pub requires_grad: u64,
    /// The Python object of a node to the node.
    pub node_python: u64,
    /// In a node: the vector of its edges.
    pub edges: u64,
    /// Bytes of an edge, which begins with the address of the next node.
    pub edge_bytes: u64,
}

/// No field of a known build lies further than this into its object.
pub const REACH: u64 = 256;

impl Layout {
    /// From named offsets, such as `calibrate.py` prints; `None` where one is missing or senseless.
    pub fn from_named(torch: &str, offsets: &HashMap<&str, u64>) -> Option<Layout> {
        let get = |name: &str| offsets.get(name).copied().filter(|&at| at < REACH);
        let layout = Layout {
            torch: torch.to_string(),
            python_impl: get("python_impl")?,
            storage: get("storage")?,
            autograd: get("autograd")?,
            pyobj: get("pyobj")?,
            ndim: get("ndim")?,
            sizes: get("sizes")?,
            strides: get("strides")?,
            offset: get("offset")?,
            numel: get("numel")?,
            dtype: get("dtype")?,
            device: get("device")?,
            data: get("data")?,
            nbytes: get("nbytes")?,
            grad: get("grad")?,
            grad_fn: get("grad_fn")?,
            requires_grad: get("requires_grad")?,
            node_python: get("node_python")?,
            edges: get("edges")?,
            edge_bytes: get("edge_bytes")?,
        };
        Some(layout)
    }

    /// Whether a tensor and its Python object hold each other by counted references, instead of one of them owning the other
    /// by a flag. The change came with a shorter Python object (seen in 2.15).
    pub fn counts_python(&self) -> bool {
        self.python_impl == 16
    }

    /// Whether the fields of a node are known.
    pub fn knows_nodes(&self) -> bool {
        self.edges != 0 && matches!(self.edge_bytes, 16 | 24)
    }
}

/// All rows of the table, newest first.
pub fn known() -> Vec<Layout> {
    parse(include_str!("layouts.tsv"))
}

fn parse(table: &str) -> Vec<Layout> {
    let mut lines = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let names: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let mut rows: Vec<Layout> = lines
        .filter_map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let numbers = names.iter().zip(&cells).skip(1).filter_map(|(name, cell)| Some((*name, cell.parse().ok()?)));
            Layout::from_named(cells.first()?, &numbers.collect())
        })
        .collect();
    rows.reverse();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_whole() {
        let rows = include_str!("layouts.tsv").lines().filter(|l| !l.starts_with('#')).count() - 1;
        let known = known();
        assert_eq!(known.len(), rows);
        assert_eq!(known[0].torch, "2.15.0");
        assert!(known[0].knows_nodes() && !known[1].knows_nodes());
    }

    #[test]
    fn senseless_offsets_are_refused() {
        assert!(parse("torch\tpython_impl\n1.0\t16").is_empty());
        let table = include_str!("layouts.tsv").replace("\t152\t", "\t1520\t");
        assert!(parse(&table).len() < known().len());
    }
}
