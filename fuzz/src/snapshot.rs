//! Memory snapshots of PyTorch: pickles that may be anything.

use lowtide_ingest::snapshot::timeline::Trace;
use lowtide_ingest::snapshot::{fragments, read, sums};

/// A snapshot, read and looked at from all sides.
pub fn snapshot(bytes: &[u8]) {
    let snapshot = match read(bytes) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            assert!(error.to_string().len() < 4096, "a message that can be read");
            return;
        }
    };
    for device in snapshot.devices().into_iter().take(8) {
        let used = fragments::usage(&snapshot, device);
        let pools = fragments::pools(&snapshot, device);
        assert!(pools.iter().all(|pool| pool.used.reserved <= used.reserved), "a pool is a part");
        let lines = sums::by_line(&snapshot, &sums::live(&snapshot, device));
        let changes = sums::changes(&lines, &lines);
        assert!(changes.iter().all(|change| change.bytes() == 0), "nothing changes within a snapshot");
        if let Some(trace) = Trace::of(&snapshot, device) {
            let mut moments = 0;
            let timeline = trace.play(|_| moments += 1);
            assert!(moments <= timeline.events, "a moment for each event");
            assert!(timeline.peak.allocated >= timeline.start.allocated && timeline.ooms.len() <= timeline.ooms_seen);
            assert_eq!(trace.live_at(&[timeline.peak.after]).len(), 1);
        }
    }
}
