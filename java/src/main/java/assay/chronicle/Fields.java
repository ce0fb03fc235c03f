package assay.chronicle;

import assay.bridge.Piece;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ExternalMapQueryContext;
import net.openhft.chronicle.map.MapEntry;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Chronicle Map with a value for each field, and a second map from keys to the names of their fields.
 *
 * <p>A read copies the fields that it asks for, an update writes those that it names. Each of these is done alone with its
 * field: who reads several may see one that is changed and another that is not yet. An update of a missing record writes
 * nothing, unless that record is deleted meanwhile.
 */
public final class Fields extends Maps {
  private static final char SEPARATOR = '\n';

  private String opened = "";
  private ChronicleMap<String, byte[]> names;
  private ChronicleMap<String, byte[]> values;

  @Override
  String layout() {
    return "fields";
  }

  @Override
  void open(String table) throws DBException {
    maps(table);
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    use(table);
    if (fields != null && fields.size() == 1) {
      // Who asks for one field need not know which there are.
      String field = fields.iterator().next();
      byte[] value = values.get(place(key, field));
      if (value == null) {
        return Status.NOT_FOUND;
      }
      result.put(field, new Piece(value));
      return Status.OK;
    }
    byte[] known = names.get(key);
    if (known == null) {
      return Status.NOT_FOUND;
    }
    for (String field : split(known)) {
      byte[] value = fields == null || fields.contains(field) ? values.get(place(key, field)) : null;
      if (value != null) {
        result.put(field, new Piece(value));
      }
    }
    return Status.OK;
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> fields) {
    use(table);
    byte[] known = names.get(key);
    int written = 0;
    try {
      for (Map.Entry<String, ByteIterator> field : fields.entrySet()) {
        values.put(place(key, field.getKey()), field.getValue().toArray());
        written++;
      }
      names.put(key, join(fields.keySet()));
    } catch (RuntimeException thrown) {
      if (known == null) {
        // Nobody has seen the record: it is taken back.
        fields.keySet().forEach(field -> values.remove(place(key, field)));
        return full(thrown);
      }
      return partly(thrown, written);
    }
    if (known != null) {
      split(known).stream().filter(old -> !fields.containsKey(old)).forEach(old -> values.remove(place(key, old)));
    }
    return Status.OK;
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> fields) {
    use(table);
    byte[] known = names.get(key);
    if (known == null) {
      return Status.NOT_FOUND;
    }
    int written = 0;
    try {
      for (Map.Entry<String, ByteIterator> field : fields.entrySet()) {
        values.put(place(key, field.getKey()), field.getValue().toArray());
        written++;
      }
      if (!split(known).containsAll(fields.keySet())) {
        addNames(key, fields.keySet());
      }
      return Status.OK;
    } catch (RuntimeException thrown) {
      return partly(thrown, written);
    }
  }

  /** Of a record some of whose fields are written nobody can say that nothing happened. */
  private static Status partly(RuntimeException thrown, int written) {
    Status full = full(thrown);
    return written == 0 ? full : Status.ERROR;
  }

  @Override
  public Status delete(String table, String key) {
    use(table);
    byte[] known = names.get(key);
    boolean wasThere = remove(names, key);
    if (known != null) {
      split(known).forEach(field -> values.remove(place(key, field)));
    }
    return wasThere ? Status.OK : Status.NOT_FOUND;
  }

  private void addNames(String key, Set<String> fields) {
    try (ExternalMapQueryContext<String, byte[], ?> context = names.queryContext(key)) {
      context.updateLock().lock();
      MapEntry<String, byte[]> entry = context.entry();
      if (entry != null) {
        Set<String> all = new LinkedHashSet<>(split(entry.value().get()));
        all.addAll(fields);
        entry.doReplaceValue(context.wrapValueAsData(join(all)));
      }
    }
  }

  /** Where a field's value is. The length before the name keeps any two pairs of key and name apart. */
  private static String place(String key, String field) {
    return field.length() + ":" + field + key;
  }

  private static byte[] join(Set<String> fields) {
    return String.join(String.valueOf(SEPARATOR), fields).getBytes(StandardCharsets.UTF_8);
  }

  private Set<String> split(byte[] known) {
    return lists.computeIfAbsent(
        new String(known, StandardCharsets.UTF_8), text -> Set.of(text.split(String.valueOf(SEPARATOR))));
  }

  /** Lists of names, taken apart once: most records have the same. */
  private final Map<String, Set<String>> lists = new LinkedHashMap<>() {
    private static final long serialVersionUID = 1L;

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, Set<String>> eldest) {
      return size() > 128;
    }
  };

  private void use(String table) {
    if (names == null || !opened.equals(table) || !names.isOpen()) {
      try {
        maps(table);
      } catch (DBException failed) {
        throw new IllegalStateException(failed);
      }
    }
  }

  private void maps(String table) throws DBException {
    int fields = Integer.parseInt(getProperties().getProperty("fieldcount", "10"));
    names = house().map(table + ".names", 1, 8.0 * fields);
    values = house().map(table + ".values", fields, house().entryBytes() / fields);
    opened = table;
  }
}
