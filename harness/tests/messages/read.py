"""Reads Cucumber Messages with the published classes, and checks that what refers is there."""

import json
import sys

from cucumber_messages import Envelope, message_converter

ids, steps, finished = set(), {}, []
for line in open(sys.argv[1]):
    raw = json.loads(line)
    envelope = message_converter.from_dict(raw, Envelope)
    kind = next(name for name in vars(envelope) if getattr(envelope, name) is not None)
    content = getattr(envelope, kind)
    back = message_converter.to_dict(envelope)
    assert back == raw, (kind, raw, back)
    if kind in ("pickle", "hook"):
        ids.add(content.id)
        steps.update({step.id: content.uri for step in getattr(content, "steps", [])})
    elif kind == "test_case":
        assert content.pickle_id in ids, content
        ids.add(content.id)
        for step in content.test_steps:
            assert step.pickle_step_id in steps or step.hook_id in ids, step
            ids.add(step.id)
    elif kind == "test_case_started":
        assert content.test_case_id in ids, content
        ids.add(content.id)
    elif kind in ("test_step_started", "test_step_finished"):
        assert content.test_case_started_id in ids and content.test_step_id in ids, content
        if kind == "test_step_finished":
            finished.append(content.test_step_result.status.name.lower())
    elif kind == "test_run_finished":
        print("success" if content.success else "no success", *sorted(set(finished)))
