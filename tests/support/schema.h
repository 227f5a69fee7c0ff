#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace gpuwright {

/// A schema of docs/schema/.
inline nlohmann::json load_schema(const std::string& name) {
  std::ifstream in(std::string(GPUWRIGHT_SOURCE_DIR) + "/docs/schema/" + name);
  return nlohmann::json::parse(in, nullptr, false);
}

/// Checks a value against the part of JSON Schema that our schemas use: type, enum, const,
/// required, properties, additionalProperties, items, minItems, $ref into $defs, oneOf. Empty when
/// all is well, otherwise the first place and what is wrong there.
class SchemaChecker {
 public:
  explicit SchemaChecker(const nlohmann::json& schema) : root_(schema) {}

  std::string error(const nlohmann::json& value, const nlohmann::json& schema,
                    const std::string& place) const {
    if (schema.is_boolean()) return schema.get<bool>() ? "" : place + " is not allowed";
    if (schema.contains("$ref")) return error(value, target(schema["$ref"]), place);
    if (schema.contains("const") && value != schema["const"]) return place + " has another value";
    if (schema.contains("enum") && !among(value, schema["enum"]))
      return place + " is none of " + schema["enum"].dump();
    if (schema.contains("type") && !has_type(value, schema["type"]))
      return place + " is no " + schema["type"].dump();
    if (schema.contains("oneOf") && matches(value, schema["oneOf"], place) != 1)
      return place + " fits " + std::to_string(matches(value, schema["oneOf"], place)) + " forms";
    if (value.is_object()) return object_error(value, schema, place);
    if (value.is_array()) return array_error(value, schema, place);
    return "";
  }

 private:
  const nlohmann::json& target(const std::string& reference) const {
    return root_.at(nlohmann::json::json_pointer(reference.substr(1)));
  }

  static bool among(const nlohmann::json& value, const nlohmann::json& choices) {
    return std::find(choices.begin(), choices.end(), value) != choices.end();
  }

  static bool has_type(const nlohmann::json& value, const nlohmann::json& type) {
    if (type.is_array()) {
      for (const auto& one : type)
        if (has_type(value, one)) return true;
      return false;
    }
    const std::string name = type;
    if (name == "integer") return value.is_number_integer();
    return name == value.type_name();
  }

  int matches(const nlohmann::json& value, const nlohmann::json& forms,
              const std::string& place) const {
    int count = 0;
    for (const auto& form : forms)
      if (error(value, form, place).empty()) ++count;
    return count;
  }

  std::string object_error(const nlohmann::json& value, const nlohmann::json& schema,
                           const std::string& place) const {
    for (const auto& name : schema.value("required", nlohmann::json::array()))
      if (!value.contains(name)) return place + " has no " + name.dump();
    const auto known = schema.value("properties", nlohmann::json::object());
    const auto others = schema.value("additionalProperties", nlohmann::json(true));
    for (const auto& [name, item] : value.items()) {
      const auto wrong =
          error(item, known.contains(name) ? known[name] : others, place + "." + name);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string array_error(const nlohmann::json& value, const nlohmann::json& schema,
                          const std::string& place) const {
    if (value.size() < schema.value("minItems", std::size_t{0})) return place + " is too short";
    if (!schema.contains("items")) return "";
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto wrong = error(value[i], schema["items"], place + "[" + std::to_string(i) + "]");
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  const nlohmann::json& root_;
};

inline std::string schema_error(const nlohmann::json& value, const nlohmann::json& schema) {
  if (schema.is_discarded()) return "the schema is no JSON";
  return SchemaChecker(schema).error(value, schema, "$");
}

}  // namespace gpuwright
