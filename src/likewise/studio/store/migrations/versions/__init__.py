"""One file for each step. A step that was released is never changed; write the next one instead."""
