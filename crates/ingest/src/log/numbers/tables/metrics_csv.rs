//! A CSV of metrics without a time: `epoch,step,train_loss,rss_mb` as Lightning's `CSVLogger` and exports of W&B have them. One
//! with a column of time is a table of measurements and is read as such.

use super::Rows;
use crate::log::numbers::Entity;
use crate::log::numbers::amounts::by_name;
use crate::log::numbers::token;

/// More columns are none of metrics.
const MOST: usize = 1024;

#[derive(Debug)]
pub(super) struct Table {
    names: Vec<String>,
    step: Option<usize>,
    epoch: Option<usize>,
}

fn cells(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(|cell| cell.trim().trim_matches('"'))
}

pub(super) fn begin(text: &str) -> Option<Table> {
    let is = |wanted: &[&str]| cells(text).position(|cell| wanted.iter().any(|name| cell.eq_ignore_ascii_case(name)));
    if !text.contains(',') {
        return None;
    }
    let (step, epoch) = (is(&["step", "_step", "global_step", "trainer/global_step", "iteration"]), is(&["epoch"]));
    if step.is_none() && epoch.is_none() {
        return None;
    }
    let names: Vec<String> = cells(text).take(MOST + 1).map(str::to_owned).collect();
    let (mut amounts, mut passed) = (Vec::new(), Vec::new());
    for name in &names {
        by_name(name, 1.0, 1.0, 0, &[], &mut amounts, &mut passed);
    }
    (names.len() <= MOST && !amounts.is_empty()).then_some(Table { names, step, epoch })
}

impl Table {
    pub(super) fn row(&mut self, text: &str, rows: &mut Rows) -> bool {
        let row: Vec<&str> = cells(text).collect();
        if row.len() != self.names.len() {
            return text.trim().is_empty();
        }
        let number = |at: Option<usize>| at.and_then(|at| row[at].parse::<f64>().ok()).filter(|value| value.is_finite());
        (rows.step, rows.epoch) = (number(self.step), number(self.epoch));
        for (name, cell) in self.names.iter().zip(&row) {
            // A metric that is not logged in this step is empty.
            let Some(token::Sort::Number { value, last_digit, .. }) = token::cut(cell).first().map(|token| token.sort) else {
                continue;
            };
            let (mut amounts, mut passed) = (Vec::new(), Vec::new());
            by_name(name, value, last_digit, 0, &[], &mut amounts, &mut passed);
            rows.amounts.extend(amounts.into_iter().map(|amount| (amount, Entity::of_name(name))));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn columns_that_mean_memory() {
        let told = read("epoch,step,train_loss,rss_mb,stats/allocated_bytes.all.current\n0,9,0.5,100.5,\n0,19,0.4,,4096\n");
        let expected = [
            ("rss_mb".to_owned(), String::new(), 100.5e6, None),
            ("stats/allocated_bytes.all.current".to_owned(), String::new(), 4096.0, None),
        ];
        assert_eq!(told, expected);
        assert!(read("epoch,step,loss\n0,1,0.5\n").is_empty());
        assert!(read("in epoch 3, step 4, rss_mb 12\n1,2,3\n").is_empty());
    }
}
